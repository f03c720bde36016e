"""What trials say of two success rates."""

from collections.abc import Iterator
from math import exp, lgamma, log


def probability_better(one: tuple[int, int], other: tuple[int, int]) -> float:
    """P(rate of `one` > rate of `other`) given (successes, trials) of each, both rates uniform
    before.

    With Beta(a, b) after the trials, a = s + 1, b = n - s + 1: the sum over i < a of
    B(a' + i, b + b') / ((b + i) B(1 + i, b) B(a', b')), where a', b' are the other one's (Cook,
    "Exact calculation of beta inequalities", 2005). Raises `ValueError` for more successes than
    trials, or fewer than none.
    """
    for successes, trials in (one, other):
        if not 0 <= successes <= trials:
            raise ValueError(f"{successes} successes of {trials} trials")

    a, b = one[0] + 1, one[1] - one[0] + 1
    at, bt = other[0] + 1, other[1] - other[0] + 1

    def terms() -> Iterator[float]:
        for i in range(a):
            yield exp(_beta(at + i, b + bt) - log(b + i) - _beta(1 + i, b) - _beta(at, bt))

    return min(1.0, sum(terms()))


def _beta(a: int, b: int) -> float:
    """The logarithm of the beta function."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)
