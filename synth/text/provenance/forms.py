"""The ways in which a value may have been written where it was seen.

These are case, white space, numbers as text, cents, and spellings of a word.
"""

import json
import re
from functools import cache, lru_cache
from math import isfinite

import msgspec

from synth.schemas import Scalar
from synth.text.data_files import read

_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_SPACING = re.compile(r"[\s_\-]+")
_LEAST_SIGNS, _MOST_PARTS, _LEAST_DIGITS = 5, 12, 7
"""Of an identifier that is found however it is separated; a number stands in too many places."""
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = _NUMBERS.split()


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    """Word -> the other words of its group."""
    lines = read("text/provenance/data/spellings.yaml", list[str])
    groups = [line.split("|") for line in lines]
    return {word: tuple(sorted({*group} - {word})) for group in groups for word in group}


@lru_cache(maxsize=65536)
def written(value: Scalar, kind: str) -> tuple[tuple[str, bool], ...]:
    """(casefolded text, whether it is a number) as the value itself may stand in a text.

    `kind` keeps 1, 1.0 and True apart.
    """
    if kind == "bool" or value is None:
        return ()

    if not isinstance(value, str):
        return tuple((text, True) for text in _number_forms(abs(value)))

    stripped = value.strip()
    text = (stripped.removeprefix("#") or stripped).casefold()
    number = text.removeprefix("$")
    is_number = _PLAIN_NUMBER.fullmatch(number) is not None
    forms = [stripped, value]
    if is_number:
        forms = [value] if value != stripped else []

    escaped = [
        json.dumps(form, ensure_ascii=only_ascii)[1:-1].casefold()
        for form in forms
        for only_ascii in (False, True)
    ]
    texts = [(number, True)] if is_number else [(text, False)]
    texts += [(form, False) for form in escaped]

    return tuple(one for one in dict.fromkeys(texts) if one[0])


def _number_forms(value: float) -> dict[str, None]:
    """5 -> 5, 5.0, 5.00; 1234.5 -> 1234.5, 1234.50, 1,234.5, 1,234.50."""
    texts = [repr(value), msgspec.json.encode(value).decode()]

    if isfinite(value) and value < 1e15:
        if value == int(value):
            whole = int(value)
            texts += [f"{whole}", f"{whole:,}", f"{whole}.0", f"{whole}.00", f"{whole:,}.00"]
        else:
            texts.append(f"{value:,}")
            if abs(value * 100 - round(value * 100)) < 1e-6:
                texts += [f"{value:.2f}", f"{value:,.2f}"]

    return dict.fromkeys(texts)


@lru_cache(maxsize=65536)
def respelled(value: str) -> tuple[str, ...]:
    """Other spellings of a word: underscores and hyphens as blanks, and declared synonyms."""
    text = value.strip().casefold()
    spaced = _SPACING.sub(" ", text)
    found = [spaced, spaced.replace(" ", "_"), spaced.replace(" ", "-")]
    forms = dict.fromkeys([*found, *_synonyms().get(spaced, ())])

    return tuple(form for form in forms if form != text)


@lru_cache(maxsize=65536)
def loosely(value: str) -> re.Pattern[str] | None:
    """An identifier or telephone number however it is separated ("O-42918" as "o 42918").

    None for words and short values.
    """
    text = value.strip().casefold().lstrip("+")
    if not re.search(r"\d", text) or re.search(r"[\s.]", text):
        return None

    parts = _LETTERS_OR_DIGITS.findall(text)
    if sum(map(len, parts)) < _LEAST_SIGNS or len(parts) > _MOST_PARTS:
        return None

    if parts == [text]:
        if len(text) < _LEAST_DIGITS:
            return None

        parts = list(text)

    between = r"[\s_\-().]{0,2}".join(map(re.escape, parts))

    return re.compile(rf"(?<![a-z0-9])(?<![a-z0-9]-){between}(?![a-z0-9])")


def number_word(value: Scalar) -> str | None:
    """two ... twelve, in words; "one" says nothing in prose."""
    text = str(value)
    at = int(text) if len(text) < 3 and text.isascii() and text.isdigit() else 0

    return NUMBER_WORDS[at] if 2 <= at < len(NUMBER_WORDS) else None
