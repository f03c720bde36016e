"""Shares with 95 % intervals, by resampling whole tasks: trials of one task are no independent
evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def share(parts: Sequence[tuple[float, float]]) -> Estimate:
    """Sum over sum, from (part, whole) of each task; nan where there is nothing."""
    return gap([(part, whole, 0.0, 1.0) for part, whole in parts])


def gap(parts: Sequence[tuple[float, float, float, float]]) -> Estimate:
    """One share less another, from (part, whole, other part, other whole) of each task; nan where
    there is nothing.
    """
    table = np.array(parts, dtype=float).reshape(-1, 4)
    drawn = np.random.default_rng(0).integers(0, max(len(table), 1), (RESAMPLES, len(table)))
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.vstack([table.sum(axis=0), table[drawn].sum(axis=1)])
        values = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    low, high = (
        np.nanquantile(values[1:], (0.025, 0.975))
        if len(table) and np.isfinite(values[1:]).any()
        else (np.nan, np.nan)
    )
    return Estimate(float(values[0]), float(low), float(high))


def average_precision(scored: Sequence[tuple[float, bool]]) -> float:
    """Mean over the positives of the precision down to each, best score first; equal scores count
    as one step. Chance is the base rate.
    """
    positives = sum(label for _, label in scored)
    if not positives:
        return float("nan")
    found = above = 0
    total = 0.0
    for score in sorted({score for score, _ in scored}, reverse=True):
        group = [label for value, label in scored if value == score]
        above += len(group)
        found += sum(group)
        total += sum(group) * found / above
    return total / positives
