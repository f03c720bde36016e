"""Dates as they are written, and the arithmetic that an agent may do with them."""

import re
from collections.abc import Iterable
from datetime import date
from itertools import combinations

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS, _WEEKDAYS = _MONTH_NAMES.split(), _DAY_NAMES.split()
_NUMBER_OF_MONTH = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS)
_DAY = r"(?P<day>\d{1,2})"
_NAMED_DAY, _YEAR = rf"{_DAY}(?:st|nd|rd|th)?", r"(?:,? (?P<year>\d{4}))?"
_DATES = [
    re.compile(pattern)
    for pattern in (
        rf"(?<!\d)(?P<year>\d{{4}})[-/](?P<month>\d{{1,2}})[-/]{_DAY}(?!\d)",
        rf"(?<!\d)(?P<month>\d{{1,2}})/{_DAY}/(?P<year>\d{{4}})(?!\d)",
        rf"\b{_NAMED_DAY}(?: of)? (?P<month>{_MONTH})\b\.?{_YEAR}",
        rf"\b(?P<month>{_MONTH})\.? {_NAMED_DAY}\b{_YEAR}",
    )
]
"""2024-05-20, 5/20/2024, 20th of May 2024, May 20, 2024; the last two also without a year."""
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
            month = int(name) if name.isdigit() else _NUMBER_OF_MONTH[name[:3]]

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

    if (value.month, value.day) in partial and nearest < MOST_DAYS:
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
