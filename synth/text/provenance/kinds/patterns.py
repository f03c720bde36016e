"""The words of patterns and of small programs (grep, sed, awk, find): what is left once the signs
of the language are taken out.
"""

import re
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus

from synth.text.provenance.kinds.telling import Literal, names_one, number, telling_number

_LANGUAGE = re.compile(
    r"(?:\\0?33|\\e|\\x1b)\[[\d;]*[a-zA-Z]"  # the colours of a terminal
    r"|\\?\{\d*,?\d*\\?\}"  # how often
    r"|\[\^?\]?(?:\[:\w+:\]|[^\]])*\]"  # one sign of several
    r"|(?<!\\)\$\{?\d+\}?"  # fields and groups
    r"|\\(?:[0-9]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[a-zA-Z](?![a-zA-Z0-9]*[/.]))"
    r"|%[-+ 0#]*\d*(?:\.\d+)?[a-zA-Z]"  # formats of printf
)
_ESCAPED = re.compile(r"\\([^\w\s])")
_WORD = re.compile(r"[\w-]+(?:[.@][\w-]+)*")
_LINE = re.compile(r"\d+[a-zA-Z]")
"""A line and what is done with it, as in sed: 235p."""
_LINES = re.compile(r"\bF?NR\s*(?:[<>=!]=?|%)\s*\d+")
"""The numbers of lines, in awk."""
_CODE = re.compile(r"[A-Z]\d{3}")
"""What linters call their findings (E501): nobody has to be told it to search for it."""
_MODE = re.compile(r"[-/]?0?(?P<bits>[0-9]{3,4})")


@cache
def _answers() -> frozenset[int]:
    """The numbers of HTTP's answers, which logs are searched for."""
    return frozenset(map(int, HTTPStatus))


def words_of(text: str, *, looks: bool = False) -> Iterator[Literal]:
    """The words of a pattern or a small program that name something, and its large numbers.

    `looks`: the program shows lines, and which ones is up to the agent.
    """
    plain = _ESCAPED.sub(r"\1", _LANGUAGE.sub(" ", _LINES.sub(" ", text)))

    for word in _WORD.findall(plain):
        bare = word.strip("-_")
        bare = bare[:-1] if _LINE.fullmatch(bare) else bare
        value = number(bare)
        stem = without_ending(bare)
        known = _CODE.fullmatch(bare) or not re.search(r"[^\W\d_]", bare)
        if value is None and names_one(stem) and not known:
            yield Literal(bare)
        elif isinstance(value, int) and not looks and value not in _answers():
            yield from [Literal(bare)] if telling_number(value, digits=3) else ()


def without_ending(word: str) -> str:
    """A file's name without its ending; any other word as it is."""
    stem, dot, ending = word.rpartition(".")
    return stem if dot and ending.isalnum() and not ending.isdigit() and "@" not in word else word


def told_mode(word: str) -> str | None:
    """A file's mode that somebody must have said: none of those where the group may do no more than
    the owner, and others no more than the group (644, 755, 2770), and none that asks for one right
    alone (022).
    """
    found = _MODE.fullmatch(word)
    if found is None:
        return None

    owner, group, others = map(int, found["bits"][-3:])
    right = max(owner, group, others)
    narrows = group & owner == group and others & group == others
    alone = {owner, group, others} <= {0, right}

    return None if right < 8 and (narrows or alone) else found["bits"]
