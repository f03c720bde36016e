"""Which task a trajectory goes back to: retries and branches to what they continue, reverse tasks
to what they were made of.
"""

from collections.abc import Iterator

from synth.schemas.filter import Case
from synth.schemas.trajectory import Trajectory


class TaskLineage:
    """Parents of trajectories and of tasks, as far as the corpus holds them."""

    def __init__(self) -> None:
        self._task_of: dict[str, str] = {}
        self._parent_of: dict[str, str] = {}
        self._parent_of_task: dict[str, str] = {}

    def add(self, case: Case) -> None:
        """One more trajectory with its task."""
        trajectory = case.trajectory
        self._task_of[trajectory.trajectory_id] = trajectory.task_id
        if trajectory.parent_id is not None:
            self._parent_of[trajectory.trajectory_id] = trajectory.parent_id
        if case.task is not None and case.task.parent is not None:
            self._parent_of_task[trajectory.task_id] = case.task.parent

    def tasks(self, trajectory: Trajectory) -> Iterator[str]:
        """Its own task and all that it descends from, the root last; each once, in cycles too."""
        seen: dict[str, None] = {}
        waiting = [("trajectory", trajectory.trajectory_id), ("task", trajectory.task_id)]
        looked: set[tuple[str, str]] = set()
        while waiting:
            kind, identity = step = waiting.pop(0)
            if step in looked:
                continue
            looked.add(step)
            if kind == "trajectory":
                if identity in self._task_of:
                    waiting.append(("task", self._task_of[identity]))
                if identity in self._parent_of:
                    waiting.append(("trajectory", self._parent_of[identity]))
            else:
                seen[identity] = None
                parent = self._parent_of_task.get(identity)
                if parent is not None:
                    waiting.append(("trajectory" if parent in self._task_of else "task", parent))
        yield from seen
