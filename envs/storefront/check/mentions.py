"""What a clause of an agent's names of the shop's: orders, goods, amounts, days, places, means,
codes and numbers, each with a mark in its place, so that what is left can be read by kinds of
words.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from weakref import WeakKeyDictionary

from synth.envs.storefront.check.claim_patterns import MEANS
from synth.envs.storefront.check.claims import amounts_of
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS, SIZES
from synth.envs.storefront.world.world import BaseWorld

Line = tuple[str, str, str]
"""Noun, colour and size of a line."""
Day = tuple[int, int]
"""Month and day; 0 for one that is not told."""
Match = re.Match[str]
_MONTHS: Sequence[str] = texts("said")["months"]
_MONTH = "|".join(rf"{name}|{name[:3]}\.?" for name in _MONTHS)
_ORDER = re.compile(r"\b(?:order )?(?:number |no\.? |# ?)?(o-\d+)\b")
_TICKET = re.compile(r"\bt-\d+\b|\br\d{1,2}\b|\b(?:rt|rf|e)-(?:o-\d+|general)\.\d+\b")
"""A ticket, a rule by its number, or what tools call a return, a refund or an escalation."""
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:the )?"
    rf"(?:(?P<month>{_MONTH}) (?P<day>\d\d?)(?:st|nd|rd|th)?"
    rf"|(?P<first>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<then>{_MONTH})"
    rf"|(?<=the )(?P<alone>\d\d?)(?:st|nd|rd|th)|(?<=in )(?P<whole>{_MONTH}))(?:,? \d{{4}})?\b"
)
_STATE = re.compile(r"@place ,? ?[a-z]{2} ?(?= ?@place)")
"""The CO of "Denver, CO 80203"."""
_MONEY = re.compile(
    r"\$\s?\d[\d,]*(?:\.\d+)?(?: dollars?)?|\b\d[\d,]*(?:\.\d+)? (?:dollars?|usd|eur)\b"
    r"|(?<![\w.,-])\d[\d,]*\.\d\d(?![\d%])"
)
_TENS: Mapping[str, int] = texts("said")["tens"]
_WORDED = re.compile(rf"\b({'|'.join(_TENS)})[ -]dollars?\b")
_NUMBER = re.compile(r"(?<![\w@])\d[\d.,]*%?")
_COLOUR = "|".join(COLOURS).replace("grey", "gr[ae]y")
_NOUN = "|".join(sorted(NOUNS, key=len, reverse=True)).replace("scarf", "scar(?:f|v)")
_BRAND = "|".join(texts("catalogue")["brands"]).lower()
_LETTER = "|".join(SIZES).lower()
_GOODS = re.compile(
    rf"\b(?:(?P<lead>small|medium|large) (?=(?:{_COLOUR}|{_NOUN})))?"
    rf"(?:(?P<colour>{_COLOUR})(?: ones?)?(?:(?: (?:{_BRAND}))? (?P<noun>{_NOUN})(?:e?s)?)?"
    rf"|(?P<bare>{_NOUN})(?:e?s)?)\b"
    rf"(?:'s?)?(?:,? ?\(?(?:in )?(?:size )?"
    rf"(?P<size>(?<=size )(?:{_LETTER})|(?<=in )(?:{_LETTER})|(?<=\()(?:{_LETTER}))\b\)?)?"
)
_SIZE = re.compile(
    r"(?:(?<=\bin )|(?<=\bto )|(?<=\bfor )|(?<=\bfrom )|(?<=\bthe )|(?<=\ba )|(?<=\ban )"
    rf"|(?<=\bsize )|(?<=@goods ))(?:size )?(?P<size>small|medium|large|{_LETTER})\b"
)
"""A size without a noun."""


_KNOWN_PLACES: WeakKeyDictionary[BaseWorld, re.Pattern[str]] = WeakKeyDictionary()
"""The places of each world that is in use: every clause is looked through for them."""
_CARRIER = re.compile(rf"\b(?:{'|'.join(texts('orders')['carriers']).lower()})\b")


@dataclass(frozen=True, slots=True)
class Good:
    """Goods as they are named: by a noun, a colour, a size, or some of these; else empty."""

    noun: str = ""
    colour: str = ""
    size: str = ""

    def fits(self, line: Line) -> bool:
        """Whether it may be a line."""
        named = (self.noun, self.colour, self.size)
        return all(part in ("", of) for part, of in zip(named, line, strict=True))


def fit(goods: Iterable[Good], lines: Collection[Line]) -> bool:
    """Whether any of the goods may be any of the lines."""
    return any(good.fits(line) for good in goods for line in lines)


@dataclass(slots=True)
class Mentions:
    """What a clause names, in its order; `text` is the clause with marks in the place of it."""

    text: str
    orders: list[str] = field(default_factory=list)
    goods: list[Good] = field(default_factory=list)
    amounts: list[int] = field(default_factory=list)
    dates: list[Day] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    means: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    carriers: list[str] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)

    @property
    def kinds_of_goods(self) -> list[Good]:
        """The goods that are named by a noun, not by a colour or a size alone."""
        return [good for good in self.goods if good.noun]


Named = tuple[re.Pattern[str], str, Callable[[Mentions, Match], object]]
"""How things of a kind are named, the mark that stands in their place, and what keeps them."""


def _means(kind: str, found: Mentions, _: Match) -> None:
    """Keeps a kind of means."""
    found.means.append(kind)


_BEFORE_PLACES: Sequence[Named] = (
    (_TICKET, " @ticket ", lambda found, one: found.tickets.append(one[0].upper())),
    (_ORDER, " @order ", lambda found, one: found.orders.append(one[1].upper())),
    (_ISO, " @date ", lambda found, one: found.dates.append(_iso(one[0]))),
    (_DAY, " @date ", lambda found, one: found.dates.append(_day(one))),
)
_BEHIND_PLACES: Sequence[Named] = (
    (_STATE, "@place ", lambda found, one: None),
    (_MONEY, " @amount ", lambda found, one: found.amounts.extend(amounts_of(one[0]))),
    (_WORDED, " @amount ", lambda found, one: found.amounts.append(_TENS[one[1]] * 100)),
    (_GOODS, " @goods ", lambda found, one: found.goods.append(_good(one))),
    (_SIZE, " @goods ", lambda found, one: found.goods.append(Good(size=one["size"][0].upper()))),
    *((words, " @means ", partial(_means, kind)) for kind, words in MEANS.items()),
    (_CARRIER, " @carrier ", lambda found, one: found.carriers.append(one[0].capitalize())),
)
_LAST: Named = (_NUMBER, " @number ", lambda found, one: found.numbers.append(one[0]))


def mentions_of(clause: str, base: BaseWorld) -> Mentions:
    """Reads a clause."""
    found = Mentions(re.sub(r"\s+", " ", clause.lower().replace("\u2019", "'")).strip(" .!,;:"))
    places: Named = (_places(base), " @place ", lambda of, one: of.places.append(one[0]))
    codes: Named = (_codes(base), " @code ", lambda of, one: of.codes.append(one[0].upper()))

    # what was read once has a mark in its place, and is nothing else
    for words, mark, take in (*_BEFORE_PLACES, places, *_BEHIND_PLACES, codes, _LAST):
        for match in words.finditer(found.text):
            take(found, match)

        found.text = words.sub(mark, found.text)

    found.text = re.sub(r"\s+", " ", found.text).strip()

    return found


def places_of(text: str, base: BaseWorld) -> list[str]:
    """The places that a text names."""
    return _places(base).findall(text.lower())


def is_day(of: object, day: Day) -> bool:
    """Whether an ISO date is a day, or what is told of it."""
    parts = str(of).split("-")
    if len(parts) != len(("year", "month", "day")) or day == (0, 0):
        return False

    return all(told in (0, int(part)) for told, part in zip(day, parts[1:], strict=True))


def _iso(text: str) -> Day:
    """Month and day of a date; of one that is none, what no calendar has."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return 0, 0

    return day.month, day.day


def _day(match: Match) -> Day:
    """Month and day of a date in words; 0 in the place of one that is not told."""
    if match["alone"]:
        return 0, int(match["alone"])

    name = (match["month"] or match["then"] or match["whole"])[:3]
    month = next(at for at, one in enumerate(_MONTHS, 1) if one.startswith(name))

    return month, int(match["day"] or match["first"] or 0)


def _good(match: Match) -> Good:
    """The goods that were found."""
    noun = (match["noun"] or match["bare"] or "").replace("scarv", "scarf")
    size = match["size"] or (match["lead"] or "")[:1]

    return Good(noun, (match["colour"] or "").replace("gray", "grey"), size.upper())


def _places(base: BaseWorld) -> re.Pattern[str]:
    """The cities, streets, with and without their number, and zips of the shop's addresses, the
    longest first.
    """
    if base not in _KNOWN_PLACES:
        rows = base.tables["addresses"].values()
        parts = {str(row[part]).lower() for row in rows for part in ("street", "city", "zip")}
        parts |= {re.sub(r"^\d+ ", "", part) for part in parts}
        longest = sorted(parts, key=lambda one: (-len(one), one))
        words = "|".join(map(re.escape, longest)) or "(?!)"
        _KNOWN_PLACES[base] = re.compile(rf"(?<!\w)(?:{words})(?!\w)")

    return _KNOWN_PLACES[base]


def _codes(base: BaseWorld) -> re.Pattern[str]:
    """The shop's coupons, and what has their form."""
    known = "|".join(re.escape(code.lower()) for code in base.tables["coupons"])
    return re.compile(rf"\b(?:{known or '(?!)'})\b|\b[a-z]{{3,}}\d{{1,3}}\b")
