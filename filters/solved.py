"""The filter `solved`: keeps what the environment's own check accepted."""

from synth.schemas import Case, Outcome, Verdict, filter


@filter()
async def solved(case: Case) -> Verdict:
    """Keep successes, drop failures and truncated runs; undefined where no verdict is known."""
    outcome = case.trajectory.outcome
    if outcome is Outcome.UNKNOWN:
        return Verdict(None, "no_verdict")
    return Verdict(outcome is Outcome.SUCCESS, outcome.value, case.trajectory.reward)
