"""Calls as elements of XML: the tool's name as the tag, with an element for each argument (Cline,
Roo), or with text alone (CodeAct, Search-R1).

HTML and the like look the same, so that whoever reads these looks at what answered them.
"""

import re
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from synth.importers.actions.markup import Call, Written, lines_of
from synth.importers.records import WORDS

_TAG = re.compile(r"<(?P<name>[A-Za-z_][\w.-]*)>")
ELEMENT = "element"
"""How calls are written that are elements."""
_UNCLOSED = 64
"""Tags without an end after which a text is no list of calls, but something else."""
_LEAVES = frozenset(WORDS["actions"]["leaves"].split())
"""Tools whose element holds text."""
_WORDS = frozenset(WORDS["actions"]["said"].split())
"""Elements that are no tools: what the agent thinks, or says."""


def in_elements(text: str) -> Written | None:
    """The calls of a text that stand on lines of their own and in no fence, in their order."""
    calls: list[Call] = []
    kept, at, counted, fences = [], 0, 0, 0
    for one in _elements(text):
        fences, counted = fences + text.count("```", counted, one.start), one.start
        begins = text.rfind("\n", 0, one.start) + 1
        given = _given(one) if fences % 2 == 0 else None
        if given is not None and not text[begins : one.start].strip():
            calls.append((one.name, given))
            kept.append(text[at : one.start])
            at = one.end

    return Written(tuple(calls), "".join([*kept, text[at:]]).strip(), ELEMENT) if calls else None


def is_tool(name: str, answered: Set[str]) -> bool:
    """Whether the name of an element that nothing has answered is a tool's: one that was `answered`
    elsewhere in the chat, or in two words, as no element of HTML is.
    """
    return name in answered or "_" in name


class _Element(NamedTuple):
    name: str
    body: str
    start: int
    end: int


def _elements(text: str) -> Iterator[_Element]:
    """The outermost elements, in their order, in time linear in the text."""
    at, unclosed = 0, set[str]()
    while (tag := _TAG.search(text, at)) is not None and len(unclosed) < _UNCLOSED:
        at, name = tag.end(), tag["name"]
        end = -1 if name in unclosed else text.find(f"</{name}>", at)
        if end < 0:
            unclosed.add(name)
            continue
        body, at = text[at:end], end + len(name) + 3
        yield _Element(name, body, tag.start(), at)


def _given(one: _Element) -> dict[str, Any] | None:
    """The arguments of an element; None where it is no call."""
    name = one.name.lower()
    if name in _WORDS:
        return None
    if name in _LEAVES or name.startswith("execute"):
        return {"input": lines_of(one.body)}
    inner, left = list(_elements(one.body)), one.body
    for part in reversed(inner):
        left = left[: part.start] + left[part.end :]
    return {part.name: lines_of(part.body) for part in inner} if not left.strip() else None
