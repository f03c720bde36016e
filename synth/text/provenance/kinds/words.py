"""One word of a command line: JSON, a statement, an address, a path, a number, or a name."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from synth.text.json_values import json_in
from synth.text.provenance.dates import as_date
from synth.text.provenance.kinds import sql
from synth.text.provenance.kinds.patterns import without_ending, words_of
from synth.text.provenance.kinds.telling import (
    Literal,
    is_email,
    names_one,
    number,
    of_json,
    telling_number,
)

ASSIGNED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_SIZE = re.compile(r"[+-]?(?P<size>\d+(?:\.\d+)?)(?P<unit>[kKmMgGtTcbwhsd]|[kKMGT]i?B)?")
"""A number with a sign and a unit, as commands take them: +700k, -50c, 30d."""
_APART = re.compile(r"[/:@,=]")
_PLAIN = re.compile(r"[\w.+#~-]+")
"""A word without the signs of a pattern, a variable or a program."""
_BRACES = re.compile(r"(?<![$\\])\{(?P<of>[^{}\s]*,[^{}\s]*)\}")
"""A list that a shell makes words of: a{1,2}.log."""
_OFTEN = (5, 7, 12)
"""Sizes and times below 100 that are multiples of these (30d, 14d, 48h) say nothing."""


def of_word(word: str, name: str = "", *, digits: int = 2) -> Iterator[Literal]:
    """The literals of one word: JSON, a statement, an address, a path, a number, or a name."""
    found = ASSIGNED.fullmatch(word)
    if found is not None and "://" not in word and not found["value"].startswith("="):
        yield from of_word(found["value"], found["name"], digits=digits)
    elif (value := json_in(word)) is not None:
        yield from of_json(value)
    elif sql.is_sql(word):
        yield from sql.literals(word)
    elif "://" in word:
        for one in of_address(word):
            for part in _APART.split(str(one.value)):
                yield from _of_part(part, one.name, digits)
    elif is_email(word) or as_date(word) is not None:
        yield Literal(word, name)
    elif (braces := _BRACES.search(word)) is not None:
        for whole in _expanded(word, braces):
            yield from of_word(whole, name, digits=digits)
    else:
        # a path or a pattern at its signs, a text at its spaces
        parts = word.split() if " " in word else _APART.split(word)
        for part in parts:
            yield from _of_part(part.strip(".,;:!?()'\"*" if " " in word else "*"), name, digits)


def _expanded(word: str, braces: re.Match[str]) -> list[str]:
    """The words that a shell makes of one with a list in it."""
    before, behind = word[: braces.start()], word[braces.end() :]
    return [f"{before}{inner}{behind}" for inner in braces["of"].split(",")]


def _of_part(part: str, name: str, digits: int) -> Iterator[Literal]:
    """A part that tells; of one with the signs of a pattern or of a variable, its words."""
    if _tells(part, digits):
        yield _literal(part, name)
    elif not _PLAIN.fullmatch(part):
        yield from words_of(part)


def of_address(word: str) -> Iterator[Literal]:
    """The parts of a URL that tell, and its host."""
    try:
        parts = urlsplit(word)
        given = parse_qsl(parts.query)
    except ValueError:
        return

    yield Literal(parts.netloc)
    yield from (Literal(one) for one in parts.path.split("/") if _tells(one, 2))
    yield from (Literal(value, key) for key, value in given if _tells(value, 2))


def _literal(part: str, name: str) -> Literal:
    """A part as it is looked for: of a size, the number."""
    size = _SIZE.fullmatch(part)
    return Literal(part if size is None else size["size"], name)


def _tells(part: str, digits: int) -> bool:
    """Whether a part of a path or an operand tells: also without the ending of a file's name."""
    size = _SIZE.fullmatch(part)
    if size is not None:
        value = number(size["size"])
        return value is not None and (telling_number(value, digits=digits) or _is_odd(size, value))

    if not _PLAIN.fullmatch(part):
        return False

    return names_one(without_ending(part))


def _is_odd(size: re.Match[str], value: float) -> bool:
    """Whether a size or a time of two digits is none that people write (59K, not 30d or 64M)."""
    whole = int(value)
    usual = whole < 10 or whole & (whole - 1) == 0 or not all(whole % one for one in _OFTEN)

    return bool(size["unit"]) and value == whole < 100 and not usual
