"""Trajectories beside their tasks, a few hundred of both in memory at a time."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from synth.ledger.ledger import StoredLedger
from synth.schemas import Task, Trajectory

T = TypeVar("T")
CHUNK = 200


def batches(
    items: Iterable[T], enough: int, size: Callable[[T], int] | None = None
) -> Iterator[list[T]]:
    """The items in their order, so many at a time; or, with `size`, cut where those of a batch have
    enough of what it counts.
    """
    batch, held = list[T](), 0

    for item in items:
        batch.append(item)
        held += 1 if size is None else size(item)
        if held >= enough:
            yield batch
            batch, held = [], 0

    if batch:
        yield batch


def with_tasks(
    ledger: StoredLedger, trajectories: Iterable[Trajectory], *, every: bool = False
) -> Iterator[tuple[Trajectory, Task | None]]:
    """Each trajectory with its task of the current flow, or of `every` flow that ran here; None
    where the ledger has none.
    """
    for chunk in batches(trajectories, CHUNK):
        tasks = ledger.tasks({trajectory.task_id for trajectory in chunk}, every=every)
        yield from ((trajectory, tasks.get(trajectory.task_id)) for trajectory in chunk)
