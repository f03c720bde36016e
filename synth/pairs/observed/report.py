"""What a reader of the card must know of comparisons that no test stands behind."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from synth.datasets.release import LeftOut
from synth.pairs.observed.pair import ObservedPair
from synth.pairs.observed.shuffled import Shuffled
from synth.stats.length_balance import Lengths, length_auc

WITHOUT = "no_comparison:"
"""Before the reason for which a task with both outcomes gives none."""


@dataclass(slots=True)
class ObservedReport(LeftOut):
    """Filled by `observed_pairs`. `groups` of trials with both outcomes, of which `compared` gave a
    comparison; the others are left out as `no_comparison:` with the reason. `found`: comparisons
    before the release rule; `decisive`: those of a high posterior among them.
    """

    LIKELY: ClassVar[float] = 0.95
    """Posterior from which a comparison is counted as likely right."""

    groups: int = 0
    compared: int = 0
    found: int = 0
    decisive: int = 0
    shuffled: Shuffled = field(default_factory=Shuffled)
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    lengths: defaultdict[str, list[Lengths]] = field(default_factory=lambda: defaultdict(list))
    """By family, of all comparisons that may leave."""
    kept: defaultdict[str, list[Lengths]] = field(default_factory=lambda: defaultdict(list))
    """Of the rows."""

    def count(self, pair: ObservedPair, lengths: Lengths) -> None:
        """Adds a row."""
        self.rows += 1
        self.kept[pair.family].append(lengths)
        self.counts.update(
            {
                pair.family: 1,
                "single": int(pair.single),
                "across_policies": int(pair.across_policies),
                "likely": int(pair.posterior >= self.LIKELY),
            }
        )

    def remarks(self) -> Iterator[str]:
        """A line each, the warning first."""
        chance, sure = self.shuffled.pairs, self.shuffled.likely
        yield (
            f"WARNING: no test stands behind these rows. Of {self.groups} tasks with successes and "
            f"failures {self.compared} gave {self.found} comparisons; the same trials with their "
            f"outcomes shuffled inside each task give {chance:.1f} (mean of "
            f"{self.shuffled.rounds}). With a posterior of at least {self.LIKELY}: "
            f"{self.decisive}, shuffled {sure:.1f}."
        )
        yield (
            f"Of {self.rows} rows {self.counts['single']} are single (an act was seen in fewer "
            f"than 3 trials), {self.counts['likely']} have a posterior of at least {self.LIKELY}, "
            f"{self.counts['across_policies']} compare acts of different policies, whose later "
            "turns are part of the outcomes."
        )
        for family, lengths in sorted(self.lengths.items()):
            before, after = (_told(length_auc(some)) for some in (lengths, self.kept[family]))
            yield (
                f"Length alone tells chosen from rejected in {family} ({len(lengths)} "
                f"comparisons): {before}; of the {len(self.kept[family])} that were kept: {after}."
            )


def _told(auc: float | None) -> str:
    return "too few to tell" if auc is None else f"AUC {auc:.2f}"
