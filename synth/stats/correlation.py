"""Spearman's rank correlation."""

from collections.abc import Sequence
from math import sqrt

LEAST = 3


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's correlation of the ranks, ties sharing their mean rank; None below 3 pairs and
    where one side does not vary.
    """
    if len(left) < LEAST:
        return None
    a, b = _centred(left), _centred(right)
    spread = sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / spread if spread else None


def _centred(values: Sequence[float]) -> list[float]:
    """Ranks less their mean, (n + 1) / 2."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in range(first, last + 1):
            ranks[order[place]] = (first + last) / 2 + 1
        first = last + 1
    middle = (len(values) + 1) / 2
    return [rank - middle for rank in ranks]
