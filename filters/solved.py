"""The filter `solved`: keeps what the environment's own check accepted."""

from synth.schemas import UNVERIFIED, Case, Outcome, Verdict, filter


@filter()
async def solved(case: Case) -> Verdict:
    """Keep successes, drop failures and truncated runs; undefined where no verdict is known, and
    where the check could not tell (`unverified`).
    """
    outcome = case.trajectory.outcome
    if outcome is Outcome.UNKNOWN:
        return Verdict(None, UNVERIFIED if case.trajectory.undecided else "no_verdict")
    return Verdict(outcome is Outcome.SUCCESS, outcome.value, case.trajectory.reward)
