"""Intervals of success rates: of one, of the difference of two, and of trials that come in
tasks.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

DRAWS = 2000
_Z95 = 1.959964
_AT_ONCE = 2_000_000
"""Task counts drawn at once: a bound on memory."""


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact central interval of a success rate (Clopper and Pearson 1934); (0, 1) of
    nothing.
    """
    from scipy.special import betaincinv

    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    tail, failures = (1 - level) / 2, n - successes
    low = betaincinv(successes, failures + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures else 1.0
    return float(low), float(high)


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


def clustered(
    solved: Sequence[int], trials: Sequence[int], *, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of all solved over all trials, by a bootstrap of tasks (percentiles of
    2,000 draws).

    Of one task, and where no task differs from another, nothing can be resampled: then Wilson's, of
    as many trials as there are tasks (of one task: of its trials).
    """
    s, n = np.asarray(solved, dtype=np.int64), np.asarray(trials, dtype=np.int64)
    if len(n) < 2:
        return wilson(int(s.sum()), int(n.sum()))
    if len({a / b for a, b in zip(solved, trials, strict=True)}) == 1:
        return wilson(round(solved[0] / trials[0] * len(n)), len(n))
    rng = np.random.default_rng(seed)
    rates: list[float] = []
    rows = max(1, _AT_ONCE // len(n))
    while len(rates) < DRAWS:
        drawn = rng.multinomial(
            len(n), np.full(len(n), 1 / len(n)), size=min(rows, DRAWS - len(rates))
        )
        rates.extend((drawn @ s / (drawn @ n)).tolist())
    low, high = np.percentile(rates, [2.5, 97.5])
    return float(low), float(high)
