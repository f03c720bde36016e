"""Finds passwords among the arguments of commands: each program's flags and places for them."""

import re
from collections.abc import Callable, Iterator
from importlib.resources import files

import msgspec

from synth.text.secrets.values.credentials import is_chosen, is_given, is_mixed_password


class _Table(msgspec.Struct, frozen=True):
    """commands.yaml, which says what it holds."""

    flags: dict[str, str]
    sides: dict[str, str]
    places: dict[str, str]


_TABLE = msgspec.yaml.decode(
    (files("synth.text.secrets.contexts") / "commands.yaml").read_bytes(), type=_Table
)
_GIVEN_BY: dict[str, tuple[tuple[bool, str], ...]] = {
    name: tuple((flag.startswith("+"), flag.lstrip("+")) for flag in flags.split())
    for names, flags in _TABLE.flags.items()
    for name in names.split()
}
_NAMES = sorted({*_GIVEN_BY, *_TABLE.sides, *_TABLE.places} - {"impacket"}, key=len, reverse=True)
COMMAND = (
    rf"(?:^|[\s\"'`(;&|$/\\])(?:{'|'.join(re.escape(name) for name in _NAMES)})(?:\.exe)?[\"']?[, "
    r"][^\n]{4,}"
)
_NAME = re.compile("|".join(re.escape(name) for name in _NAMES))
_ARGUMENT = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[^\s\"'|;&]+(?:'[^'\n]*'|\"[^\"\n]*\")?|&&|\|\||[|;]"
)
_LISTED = re.compile(r"\\?[\"']((?:[^\"'\\\n]|\\\\)*)\\?[\"']|\]")
_LONGEST = 1500
QUOTED_FLAG = (
    r"(?:^|\s)-(?:p|P|w|a|pw|pass|P ?)[ "
    r"=]?(?:'[^'\n]{5,80}'|\"[^\"\n\\]{5,80}\")|[\"']-(?:p|P|w|a|pw|pass)[\"'],\s{0,2}[\"'][^\"'\n]{5,80}[\"']"
)
_LAST_QUOTED = re.compile(r"[\"']([^\"'\n]+)[\"']\Z")


def quoted_flag_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What any program's flag for passwords is given between quotes, where it is no word, path or
    port.
    """
    found = _LAST_QUOTED.search(text[start:end])
    if found is not None and _strange(found.group(1)):
        yield start + found.start(1), start + found.end(1)


def command_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Passwords in the arguments of each program of a line."""
    end = min(end, start + 20_000)
    found = None
    for match in _NAME.finditer(text, start, end):
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 5]
        if (before.isalnum() or before in ("_", ".", "-")) or not re.match(
            r"(?:\.exe)?[\"']?[, ]", after
        ):
            continue
        if found is not None and match.start() < found:
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
    for at, (first, last) in enumerate(arguments):
        said = text[first:last]
        for attached, flag in _GIVEN_BY.get(name, ()):
            if said == flag and not attached and at + 1 < len(arguments):
                yield from _good(text, *arguments[at + 1])
            elif (
                (
                    said.startswith(flag)
                    and len(said) > len(flag) + 3
                    and (attached or flag in ("-p", "-P", "/p:", "/pass:", "/password:", "-H"))
                )
                and not said.startswith("--")
                and (flag in ("-p", "-P", "-hp") or flag[0] == "/")
            ):
                yield from _good(
                    text, first + len(flag), last, strange=not attached and flag[0] == "-"
                )
        side = _TABLE.sides.get(name)
        if side is not None and at + 1 < len(arguments) and said in side.split():
            begin, close = arguments[at + 1]
            place = text.find(side[-1], begin, close)
            if place > 0:
                yield from _good(text, place + 1, close)
    place_of = _TABLE.places.get(name)
    if place_of is not None and arguments:
        begin, close = arguments[0][0], arguments[-1][1]
        for match in re.compile(place_of).finditer(text, begin, close):
            group = next(key for key in ("it", "other", "third") if match.groupdict().get(key))
            yield from _good(text, *match.span(group))


def _good(text: str, first: int, last: int, *, strange: bool = False) -> Iterator[tuple[int, int]]:
    while first < last and text[first] in "\"'=\\":
        first += 1
    while last > first and text[last - 1] in "\"',)]}\\":
        last -= 1
    if text.startswith("pass:", first):
        first += 5
    said = text[first:last]
    judge: Callable[[str], bool] = _strange if strange else is_given
    if len(said) >= 4 and judge(said) and (is_chosen(said) or not _ORDINARY.fullmatch(said)):
        yield first, last


_ORDINARY = re.compile(
    r"(?i)-.*|\d{1,5}(?::\d{1,5})?(?:/tcp|/udp)?|~?\.{0,2}/.*|[a-z]:\\.*|[\d.]+|https?://.*|(?:env|file|fd|stdin):?.*|[\d.:/]+:.*|\w+\.\w{2,4}|[\w-]+(?:\.[\w-]+)+"
)


def _strange(said: str) -> bool:
    return (
        is_mixed_password(said)
        and any(map(str.isalpha, said))
        and (is_chosen(said) or not _ORDINARY.fullmatch(said))
        and "/" not in said
        and not said.endswith(":")
    )
