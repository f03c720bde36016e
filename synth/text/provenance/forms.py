"""The ways in which a value may have been written where it was seen: case, white space, numbers as
text, cents, spellings of a word.
"""

import json
import re
from functools import lru_cache
from math import isfinite

import msgspec

from synth.schemas.check import Scalar

_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_SPACING = re.compile(r"[\s_\-]+")
_SPELLINGS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split("|"))
    for group in (
        "cancelled|canceled",
        "grey|gray",
        "colour|color",
        "economy|coach",
        "credit card|card",
        "united states|usa|us|united states of america",
        "united kingdom|uk|great britain",
        "round trip|return trip",
        "one way|single trip",
        "e-mail|email|mail",
    )
)
_STATES = (
    "alabama:al alaska:ak arizona:az arkansas:ar california:ca colorado:co connecticut:ct "
    "delaware:de florida:fl georgia:ga hawaii:hi "
    "idaho:id illinois:il indiana:in iowa:ia kansas:ks kentucky:ky louisiana:la maine:me "
    "maryland:md massachusetts:ma michigan:mi "
    "minnesota:mn mississippi:ms missouri:mo montana:mt nebraska:ne nevada:nv new-hampshire:nh "
    "new-jersey:nj new-mexico:nm new-york:ny "
    "north-carolina:nc north-dakota:nd ohio:oh oklahoma:ok oregon:or pennsylvania:pa "
    "rhode-island:ri south-carolina:sc south-dakota:sd "
    "tennessee:tn texas:tx utah:ut vermont:vt virginia:va washington:wa west-virginia:wv "
    "wisconsin:wi wyoming:wy"
)
NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def _synonyms() -> dict[str, tuple[str, ...]]:
    groups = [
        *_SPELLINGS,
        *(frozenset(pair.replace("-", " ").split(":")) for pair in _STATES.split()),
    ]
    return {word: tuple(sorted(group - {word})) for group in groups for word in group}


_SYNONYMS = _synonyms()


@lru_cache(maxsize=65536)
def written(value: Scalar, kind: str) -> tuple[tuple[str, bool], ...]:
    """(casefolded text, whether it is a number) as the value itself may stand in a text; `kind`
    keeps 1, 1.0 and True apart.
    """
    if kind == "bool" or value is None:
        return ()
    if isinstance(value, str):
        stripped = value.strip()
        text = (stripped.removeprefix("#") or stripped).casefold()
        bare = text.removeprefix("$")
        if value == stripped and _PLAIN_NUMBER.fullmatch(bare):
            return ((bare, True),)
        escaped = [
            json.dumps(form, ensure_ascii=ascii_only)[1:-1].casefold()
            for form in (stripped, value)
            for ascii_only in (False, True)
        ]
        if _PLAIN_NUMBER.fullmatch(bare):
            return (bare, True), *((form, False) for form in dict.fromkeys(escaped[2:]))
        return tuple((form, False) for form in dict.fromkeys([text, *escaped]) if form)
    return tuple((text, True) for text in _number_forms(abs(value)))


def _number_forms(value: float) -> dict[str, None]:
    """5 -> 5, 5.0, 5.00; 1234.5 -> 1234.5, 1234.50, 1,234.5, 1,234.50."""
    texts = [repr(value), msgspec.json.encode(value).decode()]
    if isfinite(value) and value < 1e15:
        if value == int(value):
            texts += [
                f"{int(value)}",
                f"{int(value):,}",
                f"{int(value)}.0",
                f"{int(value)}.00",
                f"{int(value):,}.00",
            ]
        else:
            texts.append(f"{value:,}")
            if abs(value * 100 - round(value * 100)) < 1e-6:
                texts += [f"{value:.2f}", f"{value:,.2f}"]
    return dict.fromkeys(texts)


@lru_cache(maxsize=65536)
def respelled(value: str) -> tuple[str, ...]:
    """Other spellings of the same word: underscores and hyphens as blanks, and declared
    synonyms.
    """
    text = value.strip().casefold()
    spaced = _SPACING.sub(" ", text)
    found = [spaced, spaced.replace(" ", "_"), spaced.replace(" ", "-"), *_SYNONYMS.get(spaced, ())]
    return tuple(form for form in dict.fromkeys(found) if form != text)


@lru_cache(maxsize=65536)
def loosely(value: str) -> re.Pattern[str] | None:
    """An identifier or telephone number however it is separated ("O-42918" as "o 42918"); None for
    words and short values.
    """
    text = value.strip().casefold()
    if (
        not any(character.isdigit() for character in text)
        or any(character.isspace() for character in text)
        or "." in text
    ):
        return None
    parts = _LETTERS_OR_DIGITS.findall(text)
    if sum(map(len, parts)) < 5 or len(parts) > 12:
        return None
    if _DIGITS.fullmatch(text):
        if len(text) < 7:
            return None
        parts = list(text)
    return re.compile(
        r"(?<![a-z0-9])(?<![a-z0-9]-)"
        + r"[\s_\-().]{0,2}".join(map(re.escape, parts))
        + r"(?![a-z0-9])"
    )


def number_word(value: Scalar) -> str | None:
    """two ... twelve, in words; "one" says nothing in prose."""
    text = str(value)
    return (
        NUMBER_WORDS[int(text)]
        if len(text) < 3
        and text.isascii()
        and text.isdigit()
        and 2 <= int(text) < len(NUMBER_WORDS)
        else None
    )
