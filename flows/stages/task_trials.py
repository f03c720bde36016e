"""The trials of each task."""

from collections.abc import Iterable

import polars as pl

from synth.ledger.ledger import Ledger


def trials_by_task(
    ledger: Ledger, synthesizers: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """Ids of the current flow's valid trajectories, of these synthesizers or of all, by task, in
    the order of their first trial: neighbours lie in the same files.
    """
    rows = ledger.frame("trajectories").filter(pl.col("fault").is_null())
    if synthesizers is not None:
        rows = rows.filter(pl.col("synthesizer").is_in(list(synthesizers)))
    found = rows.group_by("task_id", maintain_order=True).agg("trajectory_id").collect()

    return dict(found.iter_rows())
