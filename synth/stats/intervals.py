"""Intervals of success rates: of one rate, and of trials that come in tasks.

All are 95 % intervals unless a level is given, and are (low, high).
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

DRAWS = 2000
_Z95 = 1.959964


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact central interval of a success rate (Clopper and Pearson 1934); (0, 1) of no
    trials.

    The low end is the rate at which that many successes or more have a probability of
    (1 - level) / 2, the high end the one at which that many or fewer have it. Raises `ValueError`
    for counts that cannot be.
    """
    # scipy.stats has the same by name, and takes a second to import
    from scipy.special import betaincinv

    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")

    tail, failures = (1 - level) / 2, n - successes
    low = betaincinv(successes, failures + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures else 1.0

    return float(low), float(high)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The score interval of a success rate (Wilson 1927): those rates that a test would not
    reject. It holds for few trials, where the plain normal interval does not.
    """
    rate, z2 = successes / n, _Z95 * _Z95
    centre, half = rate + z2 / (2 * n), _Z95 * sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    return (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)


def clustered(solved: Sequence[int], trials: Sequence[int]) -> tuple[float, float]:
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

    # a draw says how often each task was taken: as many as there are, with replacement
    rng = np.random.default_rng(0)
    weights = np.full(len(n), 1 / len(n))
    # one draw at a time: 2,000 counts of every task at once would not fit where tasks are many
    drawn = (rng.multinomial(len(n), weights) for _ in range(DRAWS))
    low, high = np.percentile([(times @ s) / (times @ n) for times in drawn], [2.5, 97.5])

    return float(low), float(high)
