"""What a goal gives away of the edit that it asks to find."""

import builtins
import keyword
import re
from collections.abc import Iterator, Mapping

from synth.envs.repo.source.lines import changes

SHORTEST = 3
"""Letters of an identifier that is looked for: `i` and `x` stand in every text."""
SHORTEST_LINE = 10
_WORD = re.compile(r"[^\W\d]\w*")
_KNOWN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}


def leaks(
    goal: str, texts: Mapping[str, tuple[str, str]], *, operators: str = "", told: str = ""
) -> list[str]:
    """What of the edit stands in a goal: its operators, lines, identifiers and files; `told` are
    words that may stand there.

    `texts`: path -> its text in the whole and in the broken tree.
    """
    words = set(_WORD.findall(goal))
    flat = " ".join(goal.split())
    allowed = set(_WORD.findall(told))
    found = [name for name in _operators(operators) if re.search(rf"\b{name}\b", flat, re.I)]
    for path, (whole, broken) in texts.items():
        if path in goal and path not in told:
            found.append(path)
        for old, new in _changed(whole, broken):
            found += [line for line in _lines(old + new) if line in flat and line not in told]
            found += sorted((identifiers(old, new) - allowed) & words)
    return found


def identifiers(old: str, new: str) -> set[str]:
    """The names that stand in what differs between two texts, but for Python's own."""
    before, after = (re.findall(r"\w+|\S", text) for text in (old, new))
    found = set[str]()
    for a, b, c, d in changes(before, after):
        found.update([*before[a:b], *after[c:d]])
    return {
        name
        for name in found
        if _WORD.fullmatch(name) and len(name) >= SHORTEST and name not in _KNOWN
    }


def _operators(said: str) -> Iterator[str]:
    """Their names, as they are written and as they are read."""
    for name in said.split():
        yield re.escape(name)
        if "_" in name:
            yield re.escape(name).replace("_", " ")


def _changed(whole: str, broken: str) -> Iterator[tuple[str, str]]:
    """The blocks of lines that differ."""
    old, new = whole.splitlines(keepends=True), broken.splitlines(keepends=True)
    for a, b, c, d in changes(old, new):
        yield "".join(old[a:b]), "".join(new[c:d])


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        flat = " ".join(line.split())
        if len(flat) >= SHORTEST_LINE:
            yield flat
