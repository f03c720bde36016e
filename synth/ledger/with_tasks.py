"""Trajectories beside their tasks, a few hundred of both in memory at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice

from synth.ledger.ledger import Ledger
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

CHUNK = 200


def with_tasks(
    ledger: Ledger, trajectories: Iterable[Trajectory], *, every: bool = False
) -> Iterator[tuple[Trajectory, Task | None]]:
    """Each trajectory with its task of the current flow, or of `every` flow that ran here; None
    where the ledger has none.
    """
    waiting = iter(trajectories)
    while chunk := list(islice(waiting, CHUNK)):
        tasks = ledger.tasks({trajectory.task_id for trajectory in chunk}, every=every)
        for trajectory in chunk:
            yield trajectory, tasks.get(trajectory.task_id)
