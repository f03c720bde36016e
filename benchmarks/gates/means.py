"""Means beside the truth that they should hit: what is no rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from benchmarks.gates.table import Rate


@dataclass(frozen=True)
class Mean:
    """A mean with its 95 % interval (normal), beside the truth that it should hit."""

    source: str
    what: str
    values: Sequence[float]
    truth: str

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        if not self.values:
            return self.source, self.what, "0", "none", self.truth
        mean, n = fmean(self.values), len(self.values)
        half = 1.96 * stdev(self.values) / sqrt(n) if n > 1 else 0.0
        shown = f"{mean:.3f} ({mean - half:.3f} to {mean + half:.3f})" if n > 1 else f"{mean:.3f}"
        return self.source, self.what, f"{n:,}", shown, self.truth


Found = tuple[list[Rate], list[Mean]]
"""Rates and means of some sources."""
