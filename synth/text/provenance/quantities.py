"""Numbers that the agent had seen, and the declared computations of amounts from them.

Sums, differences, products with a quantity, percentages, rounding and counts are computed within
groupings that mean something: one object, one list, one key, or prose. With any two numbers of a
long transcript nearly every amount would come out.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
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
_QUANTITY_KEYS = ("quantity", "qty", "pieces", "units", "count", "nights", "passengers")
_PERCENT_KEYS = ("percent", "discount_rate", "tax_rate")
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


@dataclass(slots=True)
class Quantities:
    """Amounts in cents, whole numbers and percentages."""

    objects: list[dict[str, int]] = field(default_factory=list)
    """Per object: key -> cents of each number that stands directly in it."""
    lists: list[dict[str, list[int]]] = field(default_factory=list)
    """Per list of objects: key -> cents of its members; `key*quantity` where they have one."""
    keyed: dict[str, set[int]] = field(default_factory=partial(defaultdict, set))
    """Key -> cents, over all answers."""
    discounts: list[tuple[float, set[int]]] = field(default_factory=list)
    """Percentage of an object -> cents of the numbers in and below it, and of the sums over its
    lists.
    """
    products: set[int] = field(default_factory=set)
    """Amount x quantity of the same object."""
    fine: set[float] = field(default_factory=set)
    """Numbers with more than two decimals."""
    said: set[int] = field(default_factory=set)
    """Cents of amounts in prose."""
    percents: set[float] = field(default_factory=set)
    """Percentages in prose."""
    counts: set[int] = field(default_factory=set)
    """Whole numbers in prose, in digits or words."""
    lengths: set[int] = field(default_factory=set)
    """Lengths of lists in answers."""
    kept: int = 0

    def read(self, value: Any, key: str = "") -> list[int]:
        """Adds a JSON value; returns the cents of all numbers in it."""
        if self.kept > MOST_NUMBERS:
            return []
        if isinstance(value, dict):
            return self._read_object(value)
        if isinstance(value, list):
            self.lengths.add(len(value))
            below = [cents for entry in value for cents in self.read(entry, key)]
            return below + self._read_columns([one for one in value if isinstance(one, dict)])
        if isinstance(value, bool) or not isinstance(value, int | float):
            return []
        self.kept += 1
        cents = as_cents(value)
        if cents is None:
            self.fine.add(value)
            return []
        self.keyed[key].add(cents)
        return [cents]

    def _read_object(self, value: dict[str, Any]) -> list[int]:
        numbers = {name: self.read(entry, name) for name, entry in value.items()}
        direct = {
            name: cents[0]
            for name, cents in numbers.items()
            if cents and not isinstance(value[name], dict | list)
        }
        if len(direct) > 1:
            self.objects.append(direct)
        times = _quantity(direct)
        if times is not None:
            prices = (cents for name, cents in direct.items() if name not in _QUANTITY_KEYS)
            self.products.update(cents * times // 100 for cents in prices)
        everything = [cents for found in numbers.values() for cents in found]
        for name, cents in direct.items():
            if any(word in name for word in _PERCENT_KEYS):
                self.discounts.append((cents / 100, set(everything)))
        return everything

    def _read_columns(self, entries: list[dict[str, Any]]) -> list[int]:
        """The columns of a list of objects; returns the bases that a percentage may be of.

        These are its numbers, their sums, sums of pairs, and products with a quantity.
        """
        columns = defaultdict[str, list[int]](list)
        for entry in entries:
            numbers = {
                name: cents
                for name, number in entry.items()
                if isinstance(number, int | float)
                and not isinstance(number, bool)
                and (cents := as_cents(number)) is not None
            }
            times = _quantity(numbers)
            for name, cents in numbers.items():
                if name not in _QUANTITY_KEYS:
                    columns[name].append(cents)
                    if times is not None:
                        columns[f"{name}*quantity"].append(round(cents * times / 100))
        if columns:
            self.lists.append(columns)
        bases: list[int] = []
        for column in columns.values():
            bases += [sum(column), *column]
            bases += [a + b for at, a in enumerate(column) for b in column[at + 1 : at + 12]]
        return bases

    def hear(self, text: str) -> None:
        """Adds the numbers of a text in words."""
        for dollars, bare in _MONEY.findall(text):
            cents = as_cents(float((dollars or bare).replace(",", "")))
            if cents:
                self.said.add(cents)
        self.percents.update(map(float, _PERCENT.findall(text)))
        self.counts.update(map(int, _WHOLE.findall(_ITEM_NUMBER.sub("", text))))
        self.counts.update(_WORD_NUMBERS[word] for word in _WORD.findall(text.casefold()))

    def amounts(self) -> Iterator[tuple[str, Iterable[int]]]:
        """(computation, cents that it gives), the simplest first."""
        few = [sorted(amounts)[:_MOST_OF_A_KIND] for amounts in self.keyed.values()]
        times = [count for count in self.counts if 2 <= count <= MOST_TIMES]
        yield "product", self.products
        for amounts in few:
            large = [cents for cents in amounts if cents % 100 or cents > 1000]
            yield "product", (cents * count for cents in large for count in times)

        for columns in self.lists:
            yield "sum", map(sum, columns.values())
            for column in columns.values():
                for size in (2, 3) if len(column) <= 12 else (2,):
                    yield "sum", map(sum, combinations(column[:40], size))
        for amounts in few:
            yield "sum", map(sum, combinations(amounts, 2))

        for numbers in (*([*one.values()][:20] for one in self.objects), *few):
            pairs = combinations(numbers, 2)
            yield "difference", (sign * (a - b) for a, b in pairs if a != b for sign in (1, -1))

        for percent, bases in self.discounts:
            yield "percentage", _shares(bases, percent)
        for percent in self.percents:
            for amounts in few:
                yield "percentage", _shares(amounts, percent)


def _quantity(numbers: dict[str, int]) -> int | None:
    """Hundredths of the pieces that an object is about, None where it does not say."""
    return next((numbers[name] for name in _QUANTITY_KEYS if name in numbers), None)


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


def computed(value: float, name: str, seen: Quantities) -> str | None:
    """The computation that gives a number, to the cent, or None."""
    cents = as_cents(value)
    if cents is None:
        return None
    if any(cents in _rounded(fine * 100) for fine in seen.fine):
        return "rounding"
    is_count = value == int(value) and 0 <= value < 100 and not AMOUNT_NAME.search(name)
    if is_count and int(value) in seen.lengths:
        return "count"
    in_cents = "cent" in name.lower() and value % 1 == 0
    if in_cents and any(value in amounts for amounts in (*seen.keyed.values(), seen.said)):
        return "cents"
    return next((how for how, amounts in seen.amounts() if cents in amounts), None)


def _shares(bases: Iterable[int], percent: float) -> Iterator[int]:
    """A percentage of each amount, and what it leaves."""
    for base in bases:
        yield from _rounded(base * percent / 100)
        yield from _rounded(base * (100 - percent) / 100)


def _rounded(cents: float) -> Sequence[int]:
    """To the whole cent; a half either way, since shops and languages differ."""
    return math.floor(cents + 0.5 + 1e-6), math.ceil(cents - 0.5 - 1e-6)
