"""Finds the task that a trajectory goes back to: retries and branches to what they continue,
reverse tasks to what they were made of.
"""

from synth.schemas import Case, Trajectory


class TaskLineage:
    """Parents of trajectories and of tasks, as far as the corpus holds them.

    What descends from a task inherits what was decided about it: its split, its benchmark. A retry
    belongs to the task of what it retries, a task to the trajectory or task that it was made of.
    """

    def __init__(self) -> None:
        self._task_of: dict[str, str] = {}
        self._parent_of: dict[str, str] = {}
        self._made_of: dict[str, str] = {}

    def add(self, case: Case) -> None:
        """One more trajectory with its task. All must be added before the first is asked about."""
        trajectory, task = case.trajectory, case.task
        self._task_of[trajectory.trajectory_id] = trajectory.task_id
        if trajectory.parent_id is not None:
            self._parent_of[trajectory.trajectory_id] = trajectory.parent_id

        if task is not None and task.parent is not None:
            self._made_of[trajectory.task_id] = task.parent

    def tasks(self, trajectory: Trajectory) -> list[str]:
        """Its own task and all that it descends from, the root last; each once, in cycles too."""
        # breadth first: the nearest ancestors come first
        seen = [trajectory.trajectory_id, trajectory.task_id]
        for identity in seen:  # it grows while it is walked
            # what a trajectory was played at, and what a task was made of
            links = [self._task_of.get(identity), self._made_of.get(identity)]

            # a parent that the corpus does not hold leads nowhere, and is no task
            parent = self._parent_of.get(identity)
            links += [parent] if parent in self._task_of else []
            seen += [one for one in dict.fromkeys(links) if one is not None and one not in seen]

        return [one for one in seen if one not in self._task_of]
