"""Intervals of shares that were counted."""

from collections.abc import Callable
from math import comb, sqrt

_Z95 = 1.959964
_HALVINGS = 60


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact central interval of a success rate (Clopper and Pearson 1934); (0, 1) of
    nothing.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else _crossing(lambda rate: _at_least(successes, n, rate), tail)
    high = (
        1.0
        if successes == n
        else _crossing(lambda rate: 1 - _at_least(successes + 1, n, rate), tail)
    )
    return low, high


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % score interval of a success rate (Wilson 1927)."""
    rate, z2 = successes / n, _Z95 * _Z95
    centre, half = rate + z2 / (2 * n), _Z95 * sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    return (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)


def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int) -> tuple[float, float]:
    """The 95 % interval of the difference of two independent rates, a - b (Newcombe 1998, method
    10).
    """
    a, b = successes_a / n_a, successes_b / n_b
    (low_a, high_a), (low_b, high_b) = wilson(successes_a, n_a), wilson(successes_b, n_b)
    return a - b - sqrt((a - low_a) ** 2 + (high_b - b) ** 2), a - b + sqrt(
        (high_a - a) ** 2 + (b - low_b) ** 2
    )


def _at_least(successes: int, n: int, rate: float) -> float:
    """P(at least that many of n)."""
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(successes, n + 1))


def _crossing(tail_at: Callable[[float], float], tail: float) -> float:
    """The rate at which a monotone tail probability takes a value."""
    low, high = 0.0, 1.0
    rising = tail_at(0.0) < tail_at(1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (tail_at(middle) < tail) is rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2
