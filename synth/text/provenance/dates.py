"""Dates as they are written, and the arithmetic that an agent may do with them."""

import re
from collections.abc import Iterable
from datetime import date
from itertools import combinations

from synth.text.data_files import read

_MONTH_NAMES = read("text/provenance/data/months.yaml", list[str])
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = _DAY_NAMES.split()
_NUMBER_OF_MONTH = {
    spelling: number
    for names in _MONTH_NAMES
    for number, name in enumerate(names.split(), 1)
    for spelling in name.split("/")
}
_NUMBER_OF_MONTH |= {name[:3]: at for at, name in enumerate(_MONTH_NAMES[0].split(), 1)}
_MONTH = "|".join(sorted(_NUMBER_OF_MONTH, key=len, reverse=True))
_DAY = r"(?P<day>\d{1,2})"
_TO = r"(?:\s?[-–]\s?|\s\w{1,5}\s(?:the\s)?)"
"""Between the days of a span: 10-12 July, 10 to 12 July, 10 al 12 de julio."""
_LAST = rf"{_TO}\d{{1,2}}(?:st|nd|rd|th|\.|º)?"
_NAMED_DAY = rf"{_DAY}(?:st|nd|rd|th|\.|º)?"
_OF, _YEAR = "(?: of| de)? ", r"(?:,?(?: de(?:l)?)? (?P<year>\d{4}))?"
_DATES = [
    re.compile(pattern)
    for pattern in (
        rf"(?<!\d)(?P<year>\d{{4}})[-/](?P<month>\d{{1,2}})[-/]{_DAY}(?!\d)",
        rf"(?<!\d)(?P<month>\d{{1,2}})/{_DAY}/(?P<year>\d{{4}})(?!\d)",
        rf"\b{_NAMED_DAY}{_OF}(?P<month>{_MONTH})\b\.?{_YEAR}",
        rf"\b(?P<month>{_MONTH})\.? {_NAMED_DAY}\b{_YEAR}",
        rf"\b{_NAMED_DAY}{_LAST}{_OF}(?P<month>{_MONTH})\b\.?{_YEAR}",
        rf"\b(?P<month>{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?{_TO}{_NAMED_DAY}\b{_YEAR}",
    )
]
"""2024-05-20, 5/20/2024, 20th of May 2024, May 20, 2024, both days of a span; the last ones also
without a year.
"""
_RELATIVE = {
    "today": (0, 0),
    "tonight": (0, 0),
    "tomorrow": (1, 2),
    "yesterday": (-2, -1),
    "next week": (7, 13),
    "last week": (-13, -7),
}
"""Words, and the days that they may be away from a seen date."""
MOST_DAYS = 400
_MOST_DATES = 60


def as_date(value: object) -> date | None:
    """An ISO date, also at the head of a timestamp."""
    if not isinstance(value, str) or len(value) < 10 or value[10:11] not in ("", "T", " "):
        return None

    return _date(value[:10])


def _date(iso: str) -> date | None:
    """The day of an ISO date, None where there is no such day."""
    try:
        return date.fromisoformat(iso)
    except ValueError:
        return None


def dates_in(folded: str) -> tuple[set[date], set[tuple[int, int]]]:
    """(full dates, (month, day) of dates without a year) in a folded text."""
    full, partial = set[date | None](), set[tuple[int, int]]()

    for pattern in _DATES:
        for found in pattern.finditer(folded):
            name, day, year = found["month"], int(found["day"]), found["year"]
            month = int(name) if name.isdigit() else _NUMBER_OF_MONTH[name]

            if year:
                full.add(_date(f"{year}-{month:02}-{day:02}"))
            else:
                partial.add((month, day))

    return {one for one in full if one is not None}, partial


def computed_date(value: date, texts: Iterable[str], counts: Iterable[int]) -> str | None:
    """How a date follows from folded texts, None where it does not.

    It is written in another format, without its year, as days counted from a seen date, as a
    weekday, or as "tomorrow".
    """
    words = "\n".join(texts)
    full, partial = dates_in(words)
    offsets = {(value - other).days for other in full}
    nearest = min(map(abs, offsets), default=MOST_DAYS)
    if nearest == 0:
        return "another format"

    # where nobody said a year, there is nothing to complete it by but what is usual
    if (value.month, value.day) in partial and (nearest < MOST_DAYS or not full):
        return "year completed"

    if {*map(abs, offsets)} & {count for count in counts if count <= MOST_DAYS}:
        return "days counted"

    weekday = {_WEEKDAYS[value.weekday()]: (-7, 14)}

    for how, told in (("weekday", weekday), ("relative day", _RELATIVE)):
        for word, (low, high) in told.items():
            if word in words and any(low <= offset <= high for offset in offsets):
                return how

    return None


def days_between(value: int, texts: Iterable[str]) -> bool:
    """Whether a number of days lies between two seen dates."""
    full, _ = dates_in("\n".join(texts))
    pairs = combinations(sorted(full)[:_MOST_DATES], 2)

    return value > 0 and any((late - early).days == value for early, late in pairs)
