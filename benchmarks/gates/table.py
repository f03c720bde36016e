"""One measured rate of a gate, and the table of all of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from synth.stats.intervals import clopper_pearson

_ONE_SIDED = 0.90
"""Two-sided, so that each side is exceeded in 5 %."""


@dataclass(frozen=True)
class Rate:
    """`hits` of `n` cases of a source; `what` names what was counted ("false alarms", "misses"),
    `target` what it is to be, in words.
    """

    source: str
    gate: str
    what: str
    hits: int
    n: int
    target: str

    @property
    def most(self) -> float:
        """The exact one-sided 95 % upper bound of the rate (Clopper and Pearson 1934)."""
        return clopper_pearson(self.hits, self.n, _ONE_SIDED)[1] if self.n else 1.0


def table(rates: Iterable[Rate]) -> Iterator[str]:
    """The lines of a table in Markdown, gate by gate in the order in which they come."""
    yield "| gate | source | counted | cases | share | at most (95 %) | target |"
    yield "|---|---|---|---:|---:|---:|---|"
    for one in rates:
        share = f"{one.hits / one.n:.1%}" if one.n else "none"
        yield (
            f"| {one.gate} | {one.source} | {one.what} | {one.hits} of {one.n} | {share} | "
            f"{one.most:.1%} | {one.target} |"
        )
