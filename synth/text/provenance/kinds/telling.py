"""Which words and numbers of a composed argument say something that must be known from somewhere.

A command, a query or a program is an agent's own words; what it names in them is not.
"""

import hashlib
import mimetypes
import re
import sys
from collections.abc import Mapping, Sequence
from encodings.aliases import aliases
from functools import cache, lru_cache
from ipaddress import ip_address
from math import isfinite
from typing import Any

import msgspec

from synth.schemas import Scalar
from synth.text.data_files import read
from synth.text.provenance.dates import as_date

LEAST = 100
"""Whole numbers below it stand everywhere (as in `small_numbers`)."""
_RUN = re.compile(r"[^\W\d_]+|\d+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_VERSION = re.compile(r"[a-z]*[-=<>~!]*v?\d+(?:\.\d+){1,3}(?:[a-z]+\d*)?", re.IGNORECASE)
_IDENTITY = re.compile(r"(?:.*_|.*[a-z](?=I))?(?:id|Id|ID|number|code)")
_NAME = re.compile(r"[A-ZÀ-Þ][\w'’.-]*(?: [A-ZÀ-Þ][\w'’.-]*)+")


class Literal(msgspec.Struct, frozen=True):
    """A value in a composed argument; `name`: the column or keyword that it is given to."""

    value: Scalar
    name: str = ""


class Languages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of command lines by what they do, and numbers that mean the same everywhere."""

    shells: Sequence[str]
    pythons: Sequence[str]
    prefixes: Sequence[str]
    programs: Sequence[str]
    signs: Sequence[str]
    moded: Sequence[str]
    makers: Sequence[str]
    movers: Sequence[str]
    speakers: Sequence[str]
    worded: Sequence[str]
    modes: Sequence[str]
    starts: Sequence[str]
    constants: Sequence[int]
    known: Sequence[str]


@cache
def languages() -> Languages:
    """The words, read once."""
    found: Languages = read("text/provenance/data/languages.yaml", Languages)
    return found


@cache
def _vocabulary() -> frozenset[str]:
    """Names with digits that all know: encodings, hashes, kinds of files, Python's modules."""
    hashes = {part for one in hashlib.algorithms_available for part in (one, f"{one}sum")}
    endings = {*mimetypes.types_map, *mimetypes.suffix_map, *mimetypes.encodings_map}
    known = {*aliases, *aliases.values(), *hashes, *endings, *sys.stdlib_module_names}
    return frozenset(_bare(one) for one in known | {*languages().known})


def _bare(word: str) -> str:
    return "".join(_RUN.findall(word.casefold()))


def is_email(text: str) -> bool:
    """Whether a text is an address and nothing else."""
    return _EMAIL.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether every word of several begins with a capital letter."""
    return _NAME.fullmatch(text) is not None


@lru_cache(maxsize=65536)
def telling(word: str) -> bool:
    """Whether one word has the shape of an identifier, a date, or an address.

    It has at least two digits, and is neither a version, nor one run of letters before one of at
    most three digits (int64, p95), unless these are capitals (HAT271), nor a word of `_vocabulary`.
    """
    if is_email(word) or as_date(word) is not None:
        return True

    runs = _RUN.findall(word)
    if sum(map(str.isdigit, word)) < 2 or _bare(word) in _vocabulary():
        return False

    if re.fullmatch(r"\d+(?:\.\d+){3}", word):
        return _is_address(word)

    if _NUMBER.fullmatch(word) or _VERSION.fullmatch(word):
        return False

    plain = len(runs) == 2 and word == "".join(runs) and runs[0].islower()

    return not (plain and len(runs[1]) <= 3)


@lru_cache(maxsize=65536)
def names_one(word: str) -> bool:
    """Whether an operand tells, or is a word of three letters or more with a number to it (file1).

    That has no version's shape, and is no word of `_vocabulary`.
    """
    if telling(word):
        return True

    runs = _RUN.findall(word)
    numbers = [one for one in re.split(r"[_-]", word) if re.search(r"\d", one)]
    known = all(_bare(one) in _vocabulary() for one in (numbers or [word]))
    known = known or _bare(word) in _vocabulary() or _VERSION.fullmatch(word) is not None
    numbered = any(map(str.isdigit, word)) and any(map(_is_word, runs))

    return numbered and not known


def _is_word(run: str) -> bool:
    return run.isalpha() and len(run) > 2


def _is_address(text: str) -> bool:
    """Whether it has the shape of an address of a machine other than this one, and is no mask.

    A number above 255 makes it an address that nobody has, but a version only if it is longer.
    """
    if max(map(len, text.split("."))) > 3:
        return False

    try:
        address = ip_address(text)
        bits = int(address) ^ 0xFFFFFFFF
    except ValueError:
        return True

    return not (address.is_loopback or address.is_unspecified or bits & (bits + 1) == 0)


def number(text: str) -> float | int | None:
    """The number that a text is, None for others."""
    if not _NUMBER.fullmatch(text):
        return None

    return float(text) if "." in text else int(text)


def telling_number(value: float, *, digits: int = 2) -> bool:
    """Whether a number is at least 100, or finer than a whole, with so many significant digits.

    Powers of two and numbers of time and percent are nobody's values.
    """
    if isinstance(value, bool) or not isfinite(value):
        return False

    if value != int(value):
        return len(_significant(value)) >= max(3, digits)

    whole = abs(int(value))
    common = whole in languages().constants or whole & (whole - 1) == 0

    return whole >= LEAST and not common and len(_significant(whole)) >= digits


def tells_as(value: float, name: str) -> bool:
    """Whether a number tells, or names something by what it is given to (`order_id=47`)."""
    named = _IDENTITY.fullmatch(name) is not None and not isinstance(value, bool)
    return telling_number(value) or (named and value == int(value) > 0)


def _significant(value: float) -> str:
    return repr(abs(value)).replace(".", "").strip("0")


def of_json(value: Any, name: str = "") -> list[Literal]:
    """The telling scalars of a JSON value, each with the key above it."""
    if isinstance(value, Mapping):
        return [one for key, entry in value.items() for one in of_json(entry, str(key))]

    if isinstance(value, list):
        return [one for entry in value for one in of_json(entry, name)]

    if isinstance(value, str):
        return [Literal(value, name)] if tells(value) else []

    told = isinstance(value, int | float) and telling_number(value)

    return [Literal(value, name)] if told else []


def tells(text: str) -> bool:
    """Whether a quoted value is a word or number that tells, or a name of several words."""
    found = number(text)
    return telling_number(found) if found is not None else telling(text) or is_name(text)
