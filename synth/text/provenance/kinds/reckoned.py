"""How a literal of a composed argument follows from what was shown, in ways that commands and
queries have: another spelling, a bound one further on, a size in other units, a count of lines.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import permutations

from synth.schemas import Scalar
from synth.text.provenance.dates import as_date, dates_in
from synth.text.provenance.kinds.telling import number

_SAID = re.compile(
    r"(?<![\w.])(?P<number>\d+(?:\.\d+)?)(?:st|nd|rd|th)?(?:[ -]?(?P<unit>[a-zA-Z]+))?(?![\w]|\.\d)"
)
_SIZES = {"k": 1, "m": 2, "g": 3, "t": 4}
_TIMES = {"min": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_MOST = 24
"""Numbers of a person's words that are reckoned with: with more nearly all would come out."""


def spellings(text: str) -> Iterator[str]:
    """Other ways to write a literal: a file without its ending, a hexadecimal number without its
    mark, or in decimal, a table's name as one of its things is called.
    """
    stem, dot, ending = text.rpartition(".")
    if dot and ending.isalnum() and not ending.isdigit() and any(map(str.isdigit, stem)):
        yield stem

    if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        yield text[2:]
        yield str(int(text, 16))

    if text.isdigit():
        yield f"L{text}"  # a line in an address: fields.py#L1474

    if text.isidentifier() and not any(map(str.isdigit, text)):
        yield from (f"{text}s", text.removesuffix("s"), text.removesuffix("es"))
        yield re.sub("ies$", "y", text)


def reckoned(value: Scalar, said: Iterable[str]) -> str | None:
    """The computation in words, by what persons said; None where there is none."""
    text, texts = str(value), list(said)
    day, figure = as_date(text), number(text)

    if day is not None:
        full, _ = dates_in("\n".join(texts).casefold())
        beside = {day + timedelta(days=1), day - timedelta(days=1)}
        return "the day beside" if full & beside else None

    if figure is None:
        return None

    numbers = [one for text in texts for one in _SAID.finditer(text)][:_MOST]
    if any(figure in _in_units(one) for one in numbers):
        return "other units"

    whole = {float(one["number"]) for one in numbers}
    if {figure - 1, figure + 1} & whole:
        return "the number beside"

    pairs = permutations(whole, 2)

    return "a difference" if any(figure in (a - b, a - b + 1) for a, b in pairs) else None


def _in_units(found: re.Match[str]) -> set[float]:
    """A number that was said with a unit, in smaller units."""
    amount, unit = float(found["number"]), (found["unit"] or "").lower()
    power = _SIZES.get(unit[:1], 0) if re.fullmatch(r"[kmgt](?:i?b)?|[a-z]+bytes?", unit) else 0
    sizes = {amount * base**step for base in (1000, 1024) for step in range(1, power + 1)}
    blocks = {amount * 1024**power / 512} if power else set()
    times = {amount * length for name, length in _TIMES.items() if unit.startswith(name)}

    return sizes | blocks | times
