"""Facts that must be told: values of one type found in text, normalised."""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date

from synth.schemas.check import Scalar

_MONEY_SAID = re.compile(
    r"\$\s?(\d[\d,]*(?:\.\d{1,2})?)(?!\d)|(?<![\w.])(\d[\d,]*\.\d{1,2})(?![\d.]|\s*%)|(?<![\w.])(\d[\d,]*)\s*(?:dollars|usd)\b"
    r"|\busd\s?(\d[\d,]*(?:\.\d{1,2})?)(?![\d])"
)
_MONEY_SEEN = re.compile(r"(?<![\w.\-])\d+(?:\.\d+)?(?![\w.\-])")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
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
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\.?,? (\d{{4}})")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})")
_NAMED_MONTH = "|".join(
    f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name
    for name in (month.title() for month in _MONTHS)
)
_DAY_OF_MONTH = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_NAMED_MONTH})\b|({_NAMED_MONTH})\.? "
    r"(\d{1,2})(?:st|nd|rd|th)?\b(?!\.\d))"
    r"(?!\.?,? \d{4})"
)
_NUMBER = re.compile(r"(?<![\w.$\-])\d+(?![\w\-]|\.\d)")
_IDENTIFIER = re.compile(r"\b[A-Z]{1,2}-\d+(?:\.\d+)*\b")
_STATUS_WORDS = {
    "label_created": r"label[ _]created|label (?:has been|was|is) (?:created|printed)",
    "in_transit": r"in[ _]transit|on (?:its|the) way",
    "out_for_delivery": r"out[ _]for[ _]delivery",
    "delayed": r"delayed|(?:has|had|with|is) a delay",
    "at_pickup_point": r"(?:at|in)[ _](?:a |the |your )?(?:pick-?up|collection)[ _](?:point|location)|ready for "
    r"(?:pick|collect)\w*",
    "pending": r"pending",
    "processing": r"processing",
    "shipped": r"(?<!not been )\bshipped",
    "delivered": r"(?<!not been )\bdelivered",
    "cancelled": r"cancell?ed",
    "returned": r"returned",
}
STATUSES = {status: re.compile(rf"\b(?:{words})\b") for status, words in _STATUS_WORDS.items()}


def _cents(text: str) -> int:
    return round(float(text.replace(",", "")) * 100)


def money_said(text: str) -> set[Scalar]:
    """Amounts in cents: with a dollar sign, with decimals, or beside "dollars" or "USD"."""
    return {
        _cents(next(group for group in found.groups() if group))
        for found in _MONEY_SAID.finditer(text.lower())
    }


def money_seen(text: str) -> set[Scalar]:
    """Every number of a tool's answer, as cents."""
    return {_cents(found[0]) for found in _MONEY_SEEN.finditer(text)}


def dates(text: str) -> set[Scalar]:
    """Dates as ISO, from 2026-03-05, 5 March 2026 or March 5, 2026."""
    found = [(int(y), int(m), int(d)) for y, m, d in _ISO.findall(text)]
    lowered = text.lower()
    found += [(int(y), _month(m), int(d)) for d, m, y in _DAY_FIRST.findall(lowered)]
    found += [(int(y), _month(m), int(d)) for m, d, y in _MONTH_FIRST.findall(lowered)]
    return {f"{y:04}-{m:02}-{d:02}" for y, m, d in found if _is_day(y, m, d)}


def with_years(text: str, today: str) -> str:
    """The text with each day that has no year (21 June, June 21st) as ISO, in the year in which it
    lies nearest to `today`.
    """
    day = date.fromisoformat(today)
    return _DAY_OF_MONTH.sub(
        lambda found: (
            _nearest(day, _month((found[2] or found[3]).lower()), int(found[1] or found[4]))
            or found[0]
        ),
        text,
    )


def _nearest(today: date, month: int, day: int) -> str | None:
    days = [
        date(year, month, day)
        for year in (today.year - 1, today.year, today.year + 1)
        if _is_day(year, month, day)
    ]
    return min(days, key=lambda other: abs(other - today)).isoformat() if days else None


def _is_day(year: int, month: int, day: int) -> bool:
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _month(name: str) -> int:
    return next(index for index, month in enumerate(_MONTHS, start=1) if month.startswith(name[:3]))


def statuses(text: str) -> set[Scalar]:
    """Statuses by name or synonym."""
    lowered = text.lower()
    return {status for status, pattern in STATUSES.items() if pattern.search(lowered)}


def numbers(text: str) -> set[Scalar]:
    """Whole numbers that stand alone (no amounts, dates or parts of ids)."""
    return {int(found[0]) for found in _NUMBER.finditer(text) if len(found[0]) <= 15}


def identifiers(text: str) -> set[Scalar]:
    """Identifiers of the world."""
    return set(_IDENTIFIER.findall(text))


SAID: dict[str, Callable[[str], set[Scalar]]] = {
    "money": money_said,
    "date": dates,
    "status": statuses,
    "enum": statuses,
    "number": numbers,
    "id": identifiers,
}
SEEN: dict[str, Callable[[str], set[Scalar]]] = {**SAID, "money": money_seen}

_REQUEST = re.compile(r"\brequest \d", re.IGNORECASE)


def names_something(message: str) -> bool:
    """Whether a message says of which order, sku or request it speaks."""
    return _IDENTIFIER.search(message) is not None or _REQUEST.search(message) is not None


_WINDOW_END = re.compile(r"\n+|(?<=[.!?;])\s+")


def windows(message: str) -> list[str]:
    """A message in the pieces within which an answer must stand: sentences and lines."""
    return [window for window in _WINDOW_END.split(message) if window.strip()]
