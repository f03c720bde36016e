"""Numbers that the agent had seen, in the groupings within which a computation makes sense."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synth.text.provenance.forms import NUMBER_WORDS

_MONEY = re.compile(
    r"\$\s?(\d[\d,]*(?:\.\d+)?)|(?<![\w.\-/])(\d[\d,]*\.\d+|\d{2,6})(?![\w%]|\.\d|-\d|/\d)"
)
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?|100)\s?(?:%|percent\b)")
_WHOLE = re.compile(r"(?<![\w.,$\-/])(\d{1,4})(?![\w%]|[.,]\d|-\d|/\d)")
_ITEM_NUMBER = re.compile(
    r"^\s*\d{1,3}[.)](?=\s)", re.MULTILINE
)  # "2. Please ..." counts no pieces
_WORD_NUMBERS = {word: at for at, word in enumerate(NUMBER_WORDS) if at > 1}
_WORD = re.compile(rf"\b({'|'.join(_WORD_NUMBERS)})\b")
_QUANTITY_KEYS = ("quantity", "qty", "pieces", "units", "count", "nights", "passengers")
_PERCENT_KEYS = ("percent", "discount_rate", "tax_rate")
MOST_NUMBERS = 4_000
"""Numbers kept of one trajectory's answers."""


@dataclass(slots=True)
class Quantities:
    """Amounts in cents, whole numbers and percentages."""

    objects: list[dict[str, int]] = field(default_factory=list)
    """Per object: key -> cents of each number that stands directly in it."""
    lists: list[dict[str, list[int]]] = field(default_factory=list)
    """Per list of objects: key -> cents of its members; `key*quantity` where they have one."""
    keyed: dict[str, set[int]] = field(default_factory=dict)
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


def quantities(documents: Iterable[Any], prose: Iterable[str]) -> Quantities:
    """The numbers of JSON answers, and of what was said or written in words."""
    found = Quantities()
    for document in documents:
        _walk(found, document, "")
    for text in prose:
        found.said.update(
            cents
            for group in _MONEY.findall(text)
            if (cents := as_cents(float((group[0] or group[1]).replace(",", ""))))
        )
        found.percents.update(map(float, _PERCENT.findall(text)))
        found.counts.update(map(int, _WHOLE.findall(_ITEM_NUMBER.sub("", text))))
        found.counts.update(_WORD_NUMBERS[word] for word in _WORD.findall(text.casefold()))
    return found


def as_cents(value: float) -> int | None:
    """Whole cents, or None where the number is finer than that."""
    cents = round(value * 100)
    return cents if abs(value * 100 - cents) < 1e-6 else None


def _walk(found: Quantities, value: Any, key: str) -> list[int]:
    """Adds a value; returns the cents of all numbers in it."""
    if found.kept > MOST_NUMBERS:
        return []
    if isinstance(value, dict):
        return _object(found, value)
    if isinstance(value, list):
        found.lengths.add(len(value))
        below = [cents for entry in value for cents in _walk(found, entry, key)]
        return below + _list(found, [entry for entry in value if isinstance(entry, dict)])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    found.kept += 1
    cents = as_cents(value) if abs(value) < 1e12 else None
    if cents is None:
        found.fine.add(value)
        return []
    found.keyed.setdefault(key, set()).add(cents)
    return [cents]


def _object(found: Quantities, value: Mapping[str, Any]) -> list[int]:
    direct = {
        name: cents[0]
        for name, entry in value.items()
        if not isinstance(entry, dict | list) and (cents := _walk(found, entry, name))
    }
    below = [
        cents
        for name, entry in value.items()
        if isinstance(entry, dict | list)
        for cents in _walk(found, entry, name)
    ]
    if len(direct) > 1:
        found.objects.append(direct)
    quantity = next((direct[name] for name in _QUANTITY_KEYS if name in direct), None)
    if quantity is not None:
        found.products.update(
            cents * quantity // 100 for name, cents in direct.items() if name not in _QUANTITY_KEYS
        )
    everything = [*direct.values(), *below]
    for name, entry in direct.items():
        if any(word in name for word in _PERCENT_KEYS):
            found.discounts.append((entry / 100, set(everything)))
    return everything


def _list(found: Quantities, entries: list[dict[str, Any]]) -> list[int]:
    """The columns of a list of objects; returns their sums, pair sums and products with a quantity,
    as bases of a percentage.
    """
    columns: dict[str, list[int]] = {}
    for entry in entries:
        numbers = {
            name: n
            for name, n in entry.items()
            if isinstance(n, int | float) and not isinstance(n, bool)
        }
        quantity = next((numbers[name] for name in _QUANTITY_KEYS if name in numbers), None)
        for name, number in numbers.items():
            cents = as_cents(number) if abs(number) < 1e12 else None
            if cents is not None and name not in _QUANTITY_KEYS:
                columns.setdefault(name, []).append(cents)
                if quantity is not None:
                    columns.setdefault(f"{name}*quantity", []).append(round(cents * quantity))
    if columns:
        found.lists.append(columns)
    bases: list[int] = []
    for column in columns.values():
        bases += [sum(column), *column]
        bases += [a + b for at, a in enumerate(column) for b in column[at + 1 : at + 12]]
    return bases
