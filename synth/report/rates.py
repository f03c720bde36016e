"""Success rates with intervals: trials of one task go together, so whole tasks are resampled."""

from collections.abc import Sequence

import numpy as np

from synth.stats.intervals import wilson

DRAWS = 2000
_AT_ONCE = 2_000_000
"""Task counts drawn at once: a bound on memory."""


def clustered(
    solved: Sequence[int], trials: Sequence[int], *, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of all solved over all trials, by a bootstrap of tasks (percentiles of
    2,000 draws).

    Of one task, and where no task differs from another, nothing can be resampled: then Wilson's, of
    as many trials as there are tasks
    (of one task: of its trials).
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


def bar(rate: float, low: float, high: float) -> str:
    """The rate and its interval as a small picture, 0 to 1 from left to right; the numbers stand
    beside it.
    """
    return (
        '<svg class="bar" width="120" height="14" viewBox="0 0 120 14" aria-hidden="true">'
        '<rect class="ground" y="5" width="120" height="4"/>'
        f'<rect class="range" x="{120 * low:.1f}" y="3" '
        f'width="{max(1.0, 120 * (high - low)):.1f}" height="8"/>'
        f'<rect class="rate" x="{min(118.0, 120 * rate - 1):.1f}" y="0" width="2.5" '
        'height="14"/></svg>'
    )


def percents(low: float, high: float) -> str:
    """An interval, for instance 59–69 %."""
    return f"{100 * low:.0f}–{100 * high:.0f} %"
