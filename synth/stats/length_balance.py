"""What length alone says of which side was chosen, and the fewest pairs to leave out until it says
little.

A classifier that sees nothing but length ranks all sides, chosen and rejected pooled, by it: its
AUC is P(chosen longer) + P(equal) / 2 over all (chosen, rejected) combinations, and 1 minus that
where the shorter is chosen.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec

from synth.stats.ranks import auc

FEWEST = 40
"""Pairs below which nothing is said, and nothing is left out: of 20 pairs whose lengths tell
nothing the AUC lies between .32 and .68 (95 %).
"""


class Lengths(msgspec.Struct, frozen=True):
    """One pair's two lengths in characters."""

    pair_id: str
    chosen: int
    rejected: int

    @property
    def direction(self) -> int:
        """1 where the chosen side is the longer, -1 where it is the shorter, else 0."""
        return (self.chosen > self.rejected) - (self.chosen < self.rejected)


def raw_auc(pairs: Sequence[Lengths]) -> float:
    """P(chosen longer) + P(equal) / 2 over all combinations of a chosen with a rejected side."""
    return auc([pair.chosen for pair in pairs], [pair.rejected for pair in pairs])


def length_auc(pairs: Sequence[Lengths]) -> float | None:
    """The AUC of the better of both directions; None with fewer than 40 pairs."""
    if len(pairs) < FEWEST:
        return None
    longer = raw_auc(pairs)
    return max(longer, 1 - longer)


def chosen_longer(pairs: Sequence[Lengths]) -> float | None:
    """Share of the pairs whose chosen side is the longer, ties half; None with fewer than 40
    pairs.
    """
    if len(pairs) < FEWEST:
        return None
    return 0.5 + sum(pair.direction for pair in pairs) / (2 * len(pairs))


def balanced(pairs: Iterable[Lengths], most: float) -> list[Lengths]:
    """As many pairs as keep the AUC at or below `most`, in the order of their ids.

    Left out are pairs of the direction that there is too much of, those with the smallest ids
    first: a sample of it, whatever by how much they differ, since the largest differences (to ask
    or to act) are worth the most. Where no sample of 40 holds, none is kept.
    """
    every = sorted(pairs, key=lambda pair: pair.pair_id)
    told = length_auc(every)
    if told is None or told <= most:
        return every

    too_much = 1 if raw_auc(every) > 0.5 else -1
    leaning = [pair.pair_id for pair in every if pair.direction == too_much]

    def without(count: int) -> list[Lengths]:
        gone = set(leaning[:count])
        return [pair for pair in every if pair.pair_id not in gone]

    def balances(count: int) -> bool:
        left = without(count)
        longer = raw_auc(left) if left else 0.5
        return (longer if too_much == 1 else 1 - longer) <= most

    # the fewest whose absence stops the leaning
    left = without(bisect_left(range(len(leaning)), True, key=balances))
    found = length_auc(left)
    return left if found is not None and found <= most else []
