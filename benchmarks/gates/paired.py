"""Two ways to rank or to name, compared on the same cases; whole tasks are resampled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np

from benchmarks.by_task import Estimate

T = TypeVar("T")
RESAMPLES = 1000
FEWEST = 50
"""Positives below which nothing is decided."""


@dataclass(frozen=True)
class Compared:
    """A candidate beside a baseline that was fixed on another source: the difference with its 95 %
    interval, and how many positives there are.
    """

    candidate: str
    baseline: str
    difference: Estimate
    positives: int

    @property
    def verdict(self) -> str:
        """`better` or `worse` where the interval excludes 0; `undecided` otherwise, and wherever
        there are fewer than 50 positives.
        """
        if self.positives < FEWEST or self.difference.low <= 0 <= self.difference.high:
            return "undecided"
        return "better" if self.difference.low > 0 else "worse"

    def __str__(self) -> str:
        return (
            f"{self.candidate} less {self.baseline}: {self.difference}, {self.positives} "
            f"positives: {self.verdict}"
        )


def interval(groups: Sequence[Sequence[T]], measure: Callable[[Sequence[T]], float]) -> Estimate:
    """A measure of all cases, and its interval by resampling whole groups."""
    rng = Random(0)
    drawn = [
        measure([case for group in rng.choices(groups, k=len(groups)) for case in group])
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return Estimate(measure([case for group in groups for case in group]), float(low), float(high))
