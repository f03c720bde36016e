"""Calls as elements of XML: the tool's name as the tag, with an element for each argument (Cline,
Roo), or with text alone (CodeAct, Search-R1).

HTML and the like look the same, so that whoever reads these looks at what answered them.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from synth.importers.actions.markup import Call, Written, lines_of
from synth.importers.records import WORDS

_TAG = re.compile(r"<(?P<name>[A-Za-z_][\w.-]*)>")
_UNCLOSED = 64
"""Tags without an end after which a text is no list of calls, but something else."""
_LEAVES = frozenset(WORDS["actions"]["leaves"].split())
"""Tools whose element holds text."""
_WORDS = frozenset(WORDS["actions"]["said"].split())
"""Elements that are no tools: what the agent thinks, or says."""


def in_elements(text: str) -> Written | None:
    """The calls of a text that stand on lines of their own, in their order."""
    calls: list[Call] = []
    kept, at = [], 0
    for one in _elements(text):
        given = _given(one)
        if given is not None and not text[: one.start].rpartition("\n")[2].strip():
            calls.append((one.name, given))
            kept.append(text[at : one.start])
            at = one.end

    return Written(tuple(calls), "".join([*kept, text[at:]]).strip(), "element") if calls else None


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
