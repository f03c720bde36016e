"""Numbers that the agent had seen, and the declared computations of amounts from them.

Sums, differences, products with a quantity, percentages, rounding and counts are computed within
groupings that mean something: one object, one list, one key, or prose. With any two numbers of a
long transcript nearly every amount would come out.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from synth.text.provenance.forms import NUMBER_WORDS

_MONEY = re.compile(
    r"\$\s?(\d[\d,]*(?:\.\d+)?)|(?<![\w.\-/])(\d[\d,]*\.\d+|\d{2,6})(?![\w%]|\.\d|-\d|/\d)"
)
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?|100)\s?(?:%|percent\b)")
_WHOLE = re.compile(r"(?<![\w.,$\-/])(\d{1,4})(?![\w%]|[.,]\d|-\d|/\d)")
_ITEM_NUMBER = re.compile(r"^\s*\d{1,3}[.)](?=\s)", re.MULTILINE)
"""As in "2. Please ...": counts no pieces."""
_WORD_NUMBERS = {word: at for at, word in enumerate(NUMBER_WORDS) if at > 1}
_WORD = re.compile(rf"\b({'|'.join(_WORD_NUMBERS)})\b")
QUANTITY_KEYS = ("quantity", "qty", "pieces", "units", "count", "nights", "passengers")
_PERCENT_KEYS = ("percent", "discount_rate", "tax_rate")
_RATE = re.compile(r"rate|ratio|share", re.IGNORECASE)
_RATIO_WITHIN = 5e-5
"""As rates are rounded: .0825 of 8.25 %."""
_IDENTIFIER_ENDINGS = ("id", "code", "zip", "number", "key")
AMOUNT_NAME = re.compile(
    r"amount|price|total|cost|fee|fare|refund|budget|balance|percent", re.IGNORECASE
)
"""Names of arguments that hold amounts, not counts or places."""
MOST_NUMBERS = 4_000
"""Numbers kept of one trajectory's answers."""
MOST_TIMES = 20
"""Largest whole number from prose that an amount is multiplied by."""
_MOST_OF_A_KIND = 60


class Quantities:
    """Amounts in cents, whole numbers and percentages, and what may be computed from them."""

    def __init__(self) -> None:
        self.keyed = defaultdict[str, set[int]](set)
        """Key -> cents, over all answers."""
        self.fine = set[float]()
        """Numbers with more than two decimals."""
        self.lengths = set[int]()
        """Lengths of lists in answers."""
        self.said = set[int]()
        """Cents of amounts in prose."""
        self.percents = set[float]()
        """Percentages in prose."""
        self.ratios = set[float]()
        """Shares of one amount in another of the same object, as parts of 1."""
        self.counts = set[int]()
        """Whole numbers in prose, in digits or words."""
        self.results = defaultdict[str, set[int]](set)
        """Computation -> cents that it gives."""
        self._kept = 0

    def read(self, value: Any, key: str = "") -> list[int]:
        """Adds a JSON value; returns the cents of all numbers in it."""
        if self._kept > MOST_NUMBERS:
            return []

        if isinstance(value, dict):
            below = {name: self.read(entry, name) for name, entry in value.items()}
            everything = [cents for found in below.values() for cents in found]
            self._of_object(_numbers(value), everything)

            return everything

        if isinstance(value, list):
            self.lengths.add(len(value))
            below_it = [cents for entry in value for cents in self.read(entry, key)]
            return below_it + self._of_list([_numbers(one) for one in value if type(one) is dict])

        if type(value) not in (int, float):
            return []

        self._kept += 1
        cents = as_cents(value)

        if cents is None:
            self.fine.add(value)
            return []

        self.keyed[key].add(cents)

        return [cents]

    def _of_object(self, numbers: Mapping[str, int], everything: Iterable[int]) -> None:
        """Products with a quantity, differences, shares by an object's own percentage, ratios."""
        amounts = [*numbers.values()][:20]
        self._differ(amounts)
        self.ratios.update(a / b for a in amounts for b in amounts if 0 < a < b)
        times = _quantity(numbers)

        for name, cents in numbers.items():
            if times is not None and name not in QUANTITY_KEYS:
                self.results["product"].add(cents * times // 100)

            if any(word in name for word in _PERCENT_KEYS):
                self.results["percentage"].update(_shares(everything, cents / 100))

    def _of_list(self, rows: Iterable[Mapping[str, int]]) -> list[int]:
        """Sums over the columns of a list of objects: all of it, pairs and triples.

        Returns what a percentage may be of: numbers, their sums, sums of pairs, and products with a
        quantity.
        """
        columns = defaultdict[str, list[int]](list)

        for numbers in rows:
            times = _quantity(numbers)
            for name in numbers.keys() - QUANTITY_KEYS:
                columns[name].append(numbers[name])
                if times is not None:
                    columns[f"{name}*quantity"].append(round(numbers[name] * times / 100))

        bases: list[int] = []

        for column in columns.values():
            total = sum(column)
            self.results["sum"].add(total)
            for size in (2, 3) if len(column) <= 12 else (2,):
                self.results["sum"].update(map(sum, combinations(column[:40], size)))

            bases += [total, *column]
            bases += [a + b for at, a in enumerate(column) for b in column[at + 1 : at + 12]]

        return bases

    def _differ(self, amounts: Sequence[int]) -> None:
        """Adds the differences of any two amounts."""
        pairs = combinations(amounts, 2)
        self.results["difference"].update(abs(a - b) for a, b in pairs if a != b)

    def hear(self, text: str) -> None:
        """Adds the numbers of a text in words."""
        for dollars, bare in _MONEY.findall(text):
            cents = as_cents(float((dollars or bare).replace(",", "")))
            self.said.update({cents} if cents else ())

        self.percents.update(map(float, _PERCENT.findall(text)))
        self.counts.update(map(int, _WHOLE.findall(_ITEM_NUMBER.sub("", text))))
        self.counts.update(_WORD_NUMBERS[word] for word in _WORD.findall(text.casefold()))

    def combine(self) -> None:
        """Adds what amounts under one key give with each other and with numbers from prose."""
        times = [count for count in self.counts if 2 <= count <= MOST_TIMES]

        for amounts in self.keyed.values():
            few = sorted(amounts)[:_MOST_OF_A_KIND]
            large = [cents for cents in few if cents % 100 or cents > 1000]
            products = [cents * count for cents in large for count in times]
            self.results["product"].update(products)
            self.results["remainder"].update(
                whole - part for whole in products for part in self.said if whole > part
            )
            self.results["sum"].update(a + b for a, b in combinations(few, 2))
            self._differ(few)
            for percent in self.percents:
                self.results["percentage"].update(_shares(few, percent))


def _numbers(value: Mapping[str, Any]) -> dict[str, int]:
    """The cents of the numbers that stand directly in an object."""
    return {
        name: cents
        for name, number in value.items()
        if type(number) in (int, float) and (cents := as_cents(number)) is not None
    }


def _quantity(numbers: Mapping[str, int]) -> int | None:
    """Hundredths of the pieces that an object is about, None where it does not say."""
    return next((numbers[name] for name in QUANTITY_KEYS if name in numbers), None)


def quantities(documents: Iterable[Any], prose: Iterable[str]) -> Quantities:
    """The numbers of JSON answers, and of what was said or written in words."""
    found = Quantities()
    for document in documents:
        found.read(document)

    for text in prose:
        found.hear(text)

    return found


def as_cents(value: float) -> int | None:
    """Whole cents, or None where the number is finer than that, or none of an amount."""
    if abs(value) >= 1e12:
        return None

    cents = round(value * 100)

    return cents if abs(value * 100 - cents) < 1e-6 else None


def may_be_computed(name: str) -> bool:
    """Whether an argument of this name may hold a computed number.

    Identifiers are looked up, never computed: names that end with id, code, zip, number or key.
    """
    return not name.lower().rstrip("s").endswith(_IDENTIFIER_ENDINGS)


def computed(
    value: float, name: str, seen: Quantities, *, one_of_several: bool = False
) -> str | None:
    """The computation that gives a number, to the cent, or None.

    `one_of_several`: of parts that make up a whole together, the last is what the others leave.
    """
    cents = as_cents(value)
    if cents is None:
        return None

    if any(cents in _rounded(fine * 100) for fine in seen.fine):
        return "rounding"

    if _RATE.search(name) and any(abs(value - ratio) < _RATIO_WITHIN for ratio in seen.ratios):
        return "ratio"

    is_count = value == int(value) and 0 <= value < 100 and not AMOUNT_NAME.search(name)
    if is_count and int(value) in seen.lengths:
        return "count"

    in_cents = "cent" in name.lower() and value % 1 == 0
    if in_cents and any(value in amounts for amounts in (*seen.keyed.values(), seen.said)):
        return "cents"

    seen.combine()

    ways = ("product", "sum", "difference", "percentage")
    for how in (*ways, "remainder") if one_of_several else ways:
        if (abs(cents) if how == "difference" else cents) in seen.results[how]:
            return how

    return None


def _shares(bases: Iterable[int], percent: float) -> Iterator[int]:
    """A percentage of each amount, and what it leaves."""
    for base in bases:
        yield from _rounded(base * percent / 100)
        yield from _rounded(base * (100 - percent) / 100)


def _rounded(cents: float) -> Sequence[int]:
    """To the whole cent; a half either way, since shops and languages differ."""
    return math.floor(cents + 0.5 + 1e-6), math.ceil(cents - 0.5 - 1e-6)
