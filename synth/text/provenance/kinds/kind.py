"""What kind an argument is of, by its schema, its name and its shape; and what of it is judged.

An identifier, a number, a value of an enumeration or a date is judged as a whole. A command, a
query or a program is the agent's own, but for the literals in it; so is a path where the call makes
it, and prose always.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache

import msgspec

from synth.text.data_files import read
from synth.text.json_values import json_in
from synth.text.provenance.arguments import (
    FREE_TEXT_NAMES,
    Argument,
    exempt,
    permitted,
    scalars,
)
from synth.text.provenance.dates import as_date
from synth.text.provenance.effect import WRITING_VERBS, first_word
from synth.text.provenance.kinds import python, scripts, shell, sql, sql_names, words
from synth.text.provenance.kinds.telling import Literal, languages
from synth.text.provenance.objects import is_identifier


class ArgumentKind(StrEnum):
    """Kinds of scalars; `text` is a value without a shape of its own (a name, a city)."""

    IDENTIFIER = "identifier"
    NUMBER = "number"
    ENUMERATION = "enumeration"
    DATE = "date"
    COMMAND = "command"
    QUERY = "query"
    CODE = "code"
    PATH = "path"
    JSON = "json"
    URL = "url"
    PROSE = "prose"
    SETTING = "setting"
    TEXT = "text"


class _Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of arguments by the kind that they say; `setting`: patterns of whole names."""

    command: str
    code: str
    path: str
    setting: str


_PATH = re.compile(r"(?:~|\.{1,2}|[a-zA-Z]:)?/?[\w.@+-]+(?:/[\w.@+-]+)*/?")
_FILE = re.compile(r"[\w-]+(?:\.[a-z]\w{0,4})+", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[^\W\d_]|['’,;:()\" -])+[.?!]")
_SIGNS = frozenset("(){}[]=;<>")
_URL = re.compile(r"[a-z][a-z+]+://[^\s/]+\S*")
_FEWEST = 4
"""Words of a sentence."""


@cache
def _names() -> _Names:
    found: _Names = read("text/provenance/data/kinds.yaml", _Names)
    return found


@cache
def _words_of(kind: str) -> frozenset[str]:
    return frozenset(getattr(_names(), kind).split())


def kind_of(argument: Argument, tool: str) -> ArgumentKind:
    """The kind of an argument of a call; `tool`: the name of the tool that is called."""
    value, name = argument.value, argument.name.lower()

    if isinstance(value, bool) or permitted(argument.schema):
        return ArgumentKind.ENUMERATION

    if not isinstance(value, str):
        return ArgumentKind.SETTING if re.fullmatch(_names().setting, name) else ArgumentKind.NUMBER

    composed = _composed(value, name, tool)
    if composed is not None:
        return composed

    if exempt(argument) or _is_sentence(value):
        return ArgumentKind.PROSE

    if value.isdigit() and re.fullmatch(_names().setting, name):
        return ArgumentKind.SETTING

    if as_date(value) is not None:
        return ArgumentKind.DATE

    if _is_path(value, name):
        return ArgumentKind.PATH

    return ArgumentKind.IDENTIFIER if is_identifier(value) else ArgumentKind.TEXT


@lru_cache(maxsize=4096)
def _composed(value: str, name: str, tool: str) -> ArgumentKind | None:
    """A statement in SQL, a command line, or a program; None for what has no parts."""
    words = frozenset(re.findall(r"[a-z]+", f"{tool.lower()} {name}"))

    if sql.is_sql(value):
        return ArgumentKind.QUERY

    if json_in(value) is not None:
        return ArgumentKind.JSON

    if _URL.fullmatch(value):
        return ArgumentKind.URL

    worded_act = (tool, name) == ("act", "action")  # imports name acts in words so
    if (
        worded_act
        or name in _words_of("command")
        or words & {*languages().shells, "shell", "terminal"}
    ):
        return ArgumentKind.COMMAND

    # a coupon has a code as well: a program has more than one word, or calls something
    if name in _words_of("code") and (len(value.split()) > 1 or "(" in value):
        return ArgumentKind.CODE

    worded = name in FREE_TEXT_NAMES

    return ArgumentKind.CODE if not worded and _is_code(value) else None


def _is_code(value: str) -> bool:
    """Whether a text reads as a program: to Python's parser, or by lines with the signs of one."""
    if len(value.split()) < 2 and "(" not in value:
        return False

    signs, indented = len(_SIGNS.intersection(value)), re.search(r"\n[ \t]+\S", value) is not None
    lines = "\n" in value.strip() and signs >= (2 if indented else 3)

    return lines or python.is_python(value)


def _is_sentence(value: str) -> bool:
    """Whether a text is a sentence in small letters, without a number or a name in it."""
    words = value.split()
    plain = all(word.islower() for word in words[1:] if word != "I")

    return len(words) >= _FEWEST and plain and _SENTENCE.fullmatch(value.strip()) is not None


def _is_path(value: str, name: str) -> bool:
    """Whether a text is the place of a file, by its shape or by its argument's name."""
    named = any(word in _words_of("path") for word in re.findall(r"[a-z]+", name))
    shaped = ("/" in value and _PATH.fullmatch(value)) or _FILE.fullmatch(value)

    return " " not in value and (named or shaped is not None)


def parts(argument: Argument, kind: ArgumentKind, tool: str) -> list[Argument] | None:
    """What of an argument must be known from somewhere; None = all of it, as it stands."""
    own = (ArgumentKind.CODE, ArgumentKind.PATH) if first_word(tool) in WRITING_VERBS else ()
    if kind in (ArgumentKind.PROSE, ArgumentKind.SETTING, *own):
        return []

    if kind is ArgumentKind.JSON:
        inner = scalars(json_in(str(argument.value)), {}, argument.path, argument.name)
        return [one for one in inner if not exempt(one)]

    found = _literals(kind, str(argument.value))
    if found is None:
        return None

    named = sql_names.names(str(argument.value)) if kind is ArgumentKind.QUERY else ()
    told = [*dict.fromkeys(found), *(Literal(one, sql_names.NAMED) for one in named)]

    return [Argument(argument.path, one.name, one.value) for one in told]


def _literals(kind: ArgumentKind, text: str) -> Iterator[Literal] | None:
    """The literals of a composed argument; None for kinds that are judged as they stand."""
    found: Iterator[Literal] | None = None

    if kind is ArgumentKind.QUERY:
        found = sql.literals(text)
    elif kind is ArgumentKind.URL:
        found = words.of_address(text)
    elif kind is ArgumentKind.COMMAND:
        found = shell.literals(text)
    elif kind is ArgumentKind.CODE:
        known = python.parsed(text) is not None
        found = python.literals(text) if known else scripts.literals(text)
    elif kind is ArgumentKind.PATH and "/" in text:
        found = iter([Literal(one) for one in text.split("/") if one.strip(".~")])

    return found


def made(argument: Argument, kind: ArgumentKind, tool: str) -> list[str]:
    """What an argument makes, which later arguments may name: files, and what is written there."""
    text, writes = str(argument.value), first_word(tool) in WRITING_VERBS

    if kind is ArgumentKind.COMMAND:
        return [*shell.made(text), *shell.contents(text)]

    if kind is ArgumentKind.QUERY:
        return [*sql_names.made(text)]

    return (
        [text]
        if writes and kind in (ArgumentKind.CODE, ArgumentKind.PATH, ArgumentKind.PROSE)
        else []
    )
