"""Trials that are retried: of the rollout, and imported ones whose world can be rebuilt."""

from collections import defaultdict
from collections.abc import Sequence

from synth.engine.context import Run
from synth.ledger.state import IMPORT
from synth.ledger.views import connect
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.outcome import Outcome
from synth.synthesizers.rebuilding import why_not_replayable
from synth.synthesizers.reflection.chain import Chain

ROLLOUT = "rollout"


def base_trials(
    run: Run, role: str, outcomes: Sequence[str], per_task: int | None
) -> list[tuple[str, str]]:
    """(trial, task) of a role's trials and of imported ones with such an outcome, those of a task
    in the order of their numbers.
    """
    sql = """SELECT task_id, trajectory_id FROM trajectories
        WHERE ((synthesizer = ? AND role = ?) OR synthesizer = ?) AND outcome IN (SELECT unnest(?))
        ORDER BY task_id, trial, trajectory_id"""
    with connect(run.ledger) as connection:
        rows = connection.execute(sql, [ROLLOUT, role, IMPORT, list(outcomes)]).fetchall()
    by_task: dict[str, list[str]] = defaultdict(list)
    for task_id, identity in rows:
        by_task[task_id].append(identity)
    return [
        (identity, task_id) for task_id, found in by_task.items() for identity in found[:per_task]
    ]


async def end_where_unfit(run: Run, chain: Chain, step_timeout_s: float) -> None:
    """Ends the chain of an imported trial that cannot be built on, with the reason; one that was
    played here is tried without a look.
    """
    if chain.base.synthesizer != IMPORT:
        return
    passes = chain.base.outcome is Outcome.SUCCESS
    reason = await why_not_replayable(run, chain.task, chain.base, step_timeout_s, passes=passes)
    if reason is not None:
        chain.reason = reason
        chain.fault = next(
            (fault for fault in RETRIED_BY_A_RERUN if reason == f"fault:{fault}"), None
        )
        run.progress.step(1)
