"""The filter `solved`: keeps what the environment's own check accepted."""

from synth.schemas.filter import Case
from synth.schemas.filter_function import filter
from synth.schemas.outcome import Outcome
from synth.schemas.verdict import Verdict


@filter()
async def solved(case: Case) -> Verdict:
    """Keep successes, drop failures and truncated runs; undefined where no verdict is known."""
    outcome = case.trajectory.outcome
    if outcome is Outcome.UNKNOWN:
        return Verdict(None, "no_verdict")
    return Verdict(outcome is Outcome.SUCCESS, outcome.value, case.trajectory.reward)
