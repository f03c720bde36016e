"""Whether an injected turn is likely enough under the policy for a preference against it to teach anything (rigor: injection labels)."""

from schemas.trajectory import Turn

MOST_RATIO = 2.0
"""mean nll(rejected) / mean nll(chosen), in nats per token; beyond it the rejected side is told apart by its strangeness alone."""


def mean_nll(turn: Turn) -> float | None:
    """Mean negative log-probability of the turn's sampled tokens; None where the server gave none."""
    if not turn.logprobs:
        return None
    return -sum(turn.logprobs) / len(turn.logprobs)


def bar(chosen: Turn, rejected: Turn) -> str | None:
    """Why a pair with an injected rejected turn is none: `likelihood_unknown`, `unlikely_rejected`, or None where the bar holds."""
    good, bad = mean_nll(chosen), mean_nll(rejected)
    if good is None or bad is None:
        return "likelihood_unknown"
    return None if bad <= MOST_RATIO * good else "unlikely_rejected"
