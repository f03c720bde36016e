"""Declared computations: sums, differences, products with a quantity, percentages, rounding,
counts.
"""

import math
import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from synth.text.provenance.quantities import Quantities, as_cents

_MOST_OF_A_KIND = 60
_IDENTIFIER_ENDINGS = ("id", "code", "zip", "number", "key")
AMOUNT_NAME = re.compile(
    r"amount|price|total|cost|fee|fare|refund|budget|balance|percent", re.IGNORECASE
)
"""Names of arguments that hold amounts, not counts or places."""
MOST_TIMES = 20
"""Largest whole number from prose that an amount is multiplied by."""


def may_be_computed(name: str) -> bool:
    """Identifiers are looked up, never computed: arguments whose name ends with id, code, zip,
    number or key.
    """
    return not name.lower().rstrip("s").endswith(_IDENTIFIER_ENDINGS)


def computed(value: float, name: str, seen: Quantities) -> str | None:
    """The computation that gives a number, to the cent, or None. Operands stand in one object, in
    one list, under one key, or in prose.

    Only groupings that mean something are tried: with any two numbers of a long transcript nearly
    every amount would come out.
    """
    cents = as_cents(value)
    if cents is None:
        return None
    if any(cents in _rounded(fine * 100) for fine in seen.fine):
        return "rounding"
    if (
        value == int(value)
        and 0 <= value < 100
        and not AMOUNT_NAME.search(name)
        and int(value) in seen.lengths
    ):
        return "count"
    if (
        "cent" in name.lower()
        and value % 1 == 0
        and any(value in amounts for amounts in (*seen.keyed.values(), seen.said))
    ):
        return "cents"
    if cents in seen.products or any(cents in products for products in _times(seen)):
        return "product"
    if cents in _sums(seen):
        return "sum"
    if abs(cents) in _differences(seen):
        return "difference"
    return "percentage" if cents in _percentages(seen) else None


def _times(seen: Quantities) -> Iterator[set[int]]:
    """Amounts under any key or from prose, by small whole numbers from prose."""
    counts = [count for count in seen.counts if 2 <= count <= MOST_TIMES]
    for amounts in seen.keyed.values():
        yield {
            cents * count
            for cents in _few(amounts)
            for count in counts
            if cents % 100 or cents > 1000
        }


def _sums(seen: Quantities) -> set[int]:
    """Columns of a list (all, pairs, triples), pairs under one key, all numbers of one object."""
    found: set[int] = set()
    for columns in seen.lists:
        for column in columns.values():
            found.add(sum(column))
            for size in (2, 3) if len(column) <= 12 else (2,):
                found.update(map(sum, combinations(column[:40], size)))
    for amounts in seen.keyed.values():
        found.update(a + b for a, b in combinations(_few(amounts), 2))
    return found


def _differences(seen: Quantities) -> set[int]:
    """Between numbers of one object, between amounts under one key, and between an amount and one
    from prose.
    """
    found = {
        abs(a - b)
        for numbers in seen.objects
        for a, b in combinations(list(numbers.values())[:20], 2)
    }
    for amounts in seen.keyed.values():
        few = _few(amounts)
        found.update(abs(a - b) for a, b in combinations(few, 2))
    return found - {0}


def _percentages(seen: Quantities) -> set[int]:
    """A share of an amount, or what is left of it: by an object's own percentage, or by one from
    prose.
    """
    found: set[int] = set()
    for percent, bases in seen.discounts:
        found.update(_shares(bases, percent))
    for percent in seen.percents:
        for amounts in seen.keyed.values():
            found.update(_shares(_few(amounts), percent))
    return found


def _shares(bases: Iterable[int], percent: float) -> Iterator[int]:
    for base in bases:
        yield from _rounded(base * percent / 100)
        yield from _rounded(base * (100 - percent) / 100)


def _rounded(cents: float) -> set[int]:
    """To the whole cent; a half either way, since shops and languages differ."""
    return {math.floor(cents + 0.5 + 1e-6), math.ceil(cents - 0.5 - 1e-6)}


def _few(amounts: set[int]) -> list[int]:
    return sorted(amounts)[:_MOST_OF_A_KIND]
