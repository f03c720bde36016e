"""Trajectories beside their tasks, a few hundred of both in memory at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from synth.ledger.ledger import Ledger
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

T = TypeVar("T")
CHUNK = 200


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in their order, so many at a time."""
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch


def with_tasks(
    ledger: Ledger, trajectories: Iterable[Trajectory], *, every: bool = False
) -> Iterator[tuple[Trajectory, Task | None]]:
    """Each trajectory with its task of the current flow, or of `every` flow that ran here; None
    where the ledger has none.
    """
    for chunk in batches(trajectories, CHUNK):
        tasks = ledger.tasks({trajectory.task_id for trajectory in chunk}, every=every)
        yield from ((trajectory, tasks.get(trajectory.task_id)) for trajectory in chunk)
