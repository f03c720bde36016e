"""Finds passwords among the arguments of commands: each program's flags and places for them."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from synth.text.secrets.judges import judge
from synth.text.secrets.labelled import Reader
from synth.text.secrets.values import read


class _Table(msgspec.Struct, frozen=True):
    """commands.yaml, which says what it holds."""

    flags: dict[str, str]
    sides: dict[str, str]
    places: dict[str, str]


_TABLE = read("commands.yaml", _Table)
_GIVEN_BY: dict[str, tuple[tuple[bool, str], ...]] = {
    name: tuple((flag.startswith("+"), flag.lstrip("+")) for flag in flags.split())
    for names, flags in _TABLE.flags.items()
    for name in names.split()
}
_NAMES = sorted({*_GIVEN_BY, *_TABLE.sides, *_TABLE.places} - {"impacket"}, key=len, reverse=True)
PROGRAMS = "|".join(re.escape(name) for name in _NAMES)
_NAME = re.compile(PROGRAMS)
_APART = re.compile(r"(?:\.exe)?[\"']?[, ]")
_ARGUMENT = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[^\s\"'|;&]+(?:'[^'\n]*'|\"[^\"\n]*\")?|&&|\|\||[|;]"
)
_LISTED = re.compile(r"\\?[\"']((?:[^\"'\\\n]|\\\\)*)\\?[\"']|\]")
_JOINED = ("-p", "-P", "-hp", "/p:", "/pass:", "/password:")
"""Flags that their argument may follow without a blank."""
_LONGEST = 1500


def command(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Passwords in the arguments of each program of a line."""
    end = min(end, start + 20_000)
    found = 0
    for match in _NAME.finditer(text, start, end):
        before = text[match.start() - 1 : match.start()]
        if (
            before.isalnum()
            or before in ("_", ".", "-")
            or not _APART.match(text, match.end())
            or match.start() < found
        ):
            continue
        arguments = list(_arguments(text, match, min(end, match.start() + _LONGEST)))
        yield from _of(match.group(), text, arguments)
        found = match.end()


def _arguments(text: str, name: "re.Match[str]", end: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each argument, without its quotes."""
    listed = (
        text[name.end() : name.end() + 1] in "\"'" and text[name.end() + 1 : name.end() + 2] == ","
    )
    pattern, at = (_LISTED, name.end() + 1) if listed else (_ARGUMENT, name.end())
    for match in pattern.finditer(text, at, end):
        said = match.group()
        if said in ("]", "|", ";", "||", "&&"):
            return
        first, last = match.span(1) if listed else match.span()
        if not listed and last - first >= 2 and said[0] in "\"'" and said[-1] == said[0]:
            first, last = first + 1, last - 1
        yield first, last


def _of(name: str, text: str, arguments: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    side = _TABLE.sides.get(name, "")
    for (first, last), following in zip(arguments, [*arguments[1:], None], strict=False):
        said = text[first:last]
        for attached, flag in _GIVEN_BY.get(name, ()):
            if said == flag and not attached and following:
                yield from _good(text, *following)
            elif said.startswith(flag) and len(said) > len(flag) + 3 and flag in _JOINED:
                strange = not attached and flag[0] == "-"
                yield from _good(text, first + len(flag), last, strange=strange)
        if following and said in side.split():
            place = text.find(side[-1], *following)
            if place > 0:
                yield from _good(text, place + 1, following[1])
    if name in _TABLE.places and arguments:
        pattern = re.compile(_TABLE.places[name])
        for match in pattern.finditer(text, arguments[0][0], arguments[-1][1]):
            yield from _good(text, *match.span(str(match.lastgroup)))


def _good(text: str, first: int, last: int, *, strange: bool = False) -> Iterator[tuple[int, int]]:
    while first < last and text[first] in "\"'=\\":
        first += 1
    while last > first and text[last - 1] in "\"',)]}\\":
        last -= 1
    if text.startswith("pass:", first):
        first += 5
    if judge("strange" if strange else "given_argument")(text[first:last]):
        yield first, last


READERS: Mapping[str, Reader] = {"command": command}
