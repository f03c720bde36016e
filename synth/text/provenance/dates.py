"""Dates as they are written, and the arithmetic that an agent may do with them."""

import re
from collections.abc import Iterable
from datetime import date

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_ISO = re.compile(r"(?<!\d)(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_AMERICAN = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?(?:,? (\d{{4}}))?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = {
    "today": (0, 0),
    "tonight": (0, 0),
    "tomorrow": (1, 2),
    "yesterday": (-2, -1),
    "next week": (7, 13),
    "last week": (-13, -7),
}
MOST_DAYS = 400


def as_date(value: object) -> date | None:
    """An ISO date, also at the head of a timestamp."""
    if not isinstance(value, str) or len(value) < 10 or (len(value) > 10 and value[10] not in "T "):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None


def dates_in(folded: str) -> tuple[set[date], set[tuple[int, int]]]:
    """(full dates, (month, day) of dates without a year) in a folded text: ISO, 5/20/2024, 5 March
    2026, March 5th.
    """
    written = [(int(y), int(m), int(d)) for y, m, d in _ISO.findall(folded)]
    written += [(int(y), int(m), int(d)) for m, d, y in _AMERICAN.findall(folded)]
    named = [(y, _month(m), int(d)) for d, m, y in _DAY_FIRST.findall(folded)]
    named += [(y, _month(m), int(d)) for m, d, y in _MONTH_FIRST.findall(folded)]
    written += [(int(y), m, d) for y, m, d in named if y]
    full = {found for parts in written if (found := _date(*parts)) is not None}
    return full, {(m, d) for y, m, d in named if not y}


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month(name: str) -> int:
    return next(index for index, month in enumerate(_MONTHS, start=1) if month.startswith(name[:3]))


def computed_date(value: date, texts: Iterable[str], counts: Iterable[int]) -> str | None:
    """How a date follows from folded texts: another format, a year completed, days counted from a
    seen date, a weekday, "tomorrow".
    """
    full: set[date] = set()
    partial: set[tuple[int, int]] = set()
    words = ""
    for text in texts:
        found, without_year = dates_in(text)
        full |= found
        partial |= without_year
        words += text + "\n"
    if value in full:
        return "another format"
    if (value.month, value.day) in partial and any(
        abs((value - other).days) <= MOST_DAYS for other in full
    ):
        return "year completed"
    offsets = {(value - other).days for other in full}
    if offsets & {sign * count for count in counts if count <= MOST_DAYS for sign in (1, -1)}:
        return "days counted"
    if _WEEKDAYS[value.weekday()] in words and any(-7 <= offset <= 14 for offset in offsets):
        return "weekday"
    relative = any(
        word in words and any(low <= offset <= high for offset in offsets)
        for word, (low, high) in _RELATIVE.items()
    )
    return "relative day" if relative else None


def days_between(value: int, texts: Iterable[str]) -> bool:
    """Whether a number of days lies between two seen dates."""
    full = sorted({found for text in texts for found in dates_in(text)[0]})[:60]
    return any(
        (late - early).days == value for at, early in enumerate(full) for late in full[at + 1 :]
    )
