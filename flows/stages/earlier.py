"""What stands before a stage: the stages that came before it, and the trials of each task."""

from collections.abc import Iterable

import polars as pl

from synth.engine.study.stage_context import StageContext
from synth.ledger.ledger import StoredLedger


def stages_before(stage: StageContext) -> list[tuple[str, str]]:
    """(stage, key) of those that were begun before it.

    A stage that runs again stands among the others already; those behind it may be of an earlier
    run of the same flow.
    """
    begun = stage.run.ledger.state.stages
    names = list(begun)
    before = names[: names.index(stage.name)] if stage.name in names else names
    return [(name, begun[name].stage_key) for name in before]


def trials_by_task(
    ledger: StoredLedger, synthesizers: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """Ids of the current flow's valid trajectories, of these synthesizers or of all, by task, in
    the order of their first trial: neighbours lie in the same files.
    """
    rows = ledger.frame("trajectories").filter(pl.col("fault").is_null())
    if synthesizers is not None:
        rows = rows.filter(pl.col("synthesizer").is_in(list(synthesizers)))
    found = rows.group_by("task_id", maintain_order=True).agg("trajectory_id").collect()

    return dict(found.iter_rows())
