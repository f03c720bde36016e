"""Which stages of a run's flow are not through: what stands on the run stands on what they had
committed by then.
"""

from collections.abc import Sequence

from synth.engine.runs.measure_cache import MEASURES
from synth.ledger import StoredLedger

RECHECK = "recheck"
"""No stage of a flow: it gives new verdicts from stored facts, and is through when they stand."""
WRITERS = ("export", "report")
"""Kinds of stages that add nothing to what a run holds."""


def kind_of_stage(stage: str) -> str:
    """`filter` of `filter_2`."""
    name, _, number = stage.rpartition("_")
    return name if number.isdigit() else stage


def unfinished(ledger: StoredLedger) -> list[str]:
    """The stages that were begun and are not through, in the flow's order; those that only write
    are none of them.
    """
    return [
        line.stage
        for line in ledger.state.stages.values()
        if not line.stage.startswith(MEASURES)
        and kind_of_stage(line.stage) not in (RECHECK, *WRITERS)
        and (line.stage, line.stage_key) not in ledger.state.done
    ]


def not_begun(ledger: StoredLedger) -> list[str]:
    """The stages of the flow that were never begun, in its order; those that only write are none of
    them.
    """
    left = [stage for stage in _of_flow(ledger) if stage not in ledger.state.stages]
    return [stage for stage in left if kind_of_stage(stage) not in WRITERS]


def _of_flow(ledger: StoredLedger) -> list[str]:
    """The names of the flow's stages, as they are numbered where one stands in it several times."""
    named = [str(choice["name"]) for choice in (ledger.state.flow or {}).get("stages", ())]

    return [
        name if (nth := named[: at + 1].count(name)) == 1 else f"{name}_{nth}"
        for at, name in enumerate(named)
    ]


def not_finished(stages: Sequence[str], done: str) -> str:
    """For instance: rollout: not finished; what it has committed is curated."""
    return (
        f"{', '.join(stages)}: not finished; what "
        f"{'it has' if len(stages) == 1 else 'they have'} committed is {done}"
    )


def unfinished_line(ledger: StoredLedger, done: str, *, before: str | None = None) -> str | None:
    """The same of a whole run, or of what comes `before` a stage, with what it has not begun; None
    where that is through.
    """
    order = _of_flow(ledger)
    later = order[order.index(before) :] if before in order else []
    begun = [stage for stage in unfinished(ledger) if stage not in later]
    other = [stage for stage in not_begun(ledger) if stage not in later]
    said = [not_finished(begun, done)] if begun else []
    said += [f"{', '.join(other)}: not begun"] if other else []

    return "; ".join(said) or None
