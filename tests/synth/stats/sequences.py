"""The sequential rule, played out: every sequence of continuations of a control and of acts that
are tested against it, each with its probability. Written from the table of the rule
(docs/synthesizers.md), apart from the code that it is compared with.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

LOOKS = (2, 4, 6, 8)
ACCEPT_FROM = {2: 99, 4: 4, 6: 5, 8: 5}
STOP_UP_TO = {2: 0, 4: 1, 6: 2, 8: 4}
Bits = tuple[int, ...]


def chance(bits: Sequence[int], rate: float) -> float:
    """Of independent continuations."""
    return prod(rate if bit else 1 - rate for bit in bits)


def ended(good: Bits, bad: Bits) -> tuple[int, bool] | None:
    """(continuations per side, accepted) where the test ends within these, else None."""
    for look in LOOKS:
        if look > len(good):
            return None
        gap = sum(good[:look]) - sum(bad[:look])
        if gap >= ACCEPT_FROM[look]:
            return look, True
        if gap <= STOP_UP_TO[look]:
            return look, False
    raise AssertionError("the rule ends at eight")


def ways_against(control: Bits) -> list[tuple[Bits, bool]]:
    """The ways in which a test against this control can go: the act's continuations up to its end,
    and whether it is accepted.
    """
    found, open_ = [], [()]
    for look in LOOKS:
        grown = [(*bits, *more) for bits in open_ for more in product((0, 1), repeat=2)]
        open_ = []
        for bits in grown:
            end = ended(bits, control[:look])
            if end is None:
                open_.append(bits)
            else:
                found.append((bits, end[1]))
    return found


def controls(length: int = 8) -> Iterator[Bits]:
    """Every control."""
    return product((0, 1), repeat=length)
