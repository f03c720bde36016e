"""Puts marks in place of findings: in strings and for whole numbers of JSON, at any depth, and
never inside a number.

What was JSON stays JSON of the same structure, and every character that belongs to no finding stays
as it was.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from synth.text.redaction.json_tokens import Document, Token, documents, unescaped, whole

DEEPEST = 32
"""Levels of JSON within strings of JSON that are read; each at least doubles the escapes of the
next.
"""
_FLOAT = re.compile(r"(?<![\w.])[-+]?\d*\.\d+(?:[eE][-+]?\d+)?(?!\w|\.\d)", re.ASCII)
_INTEGRAL = re.compile(r"[-+]?(\d+)(?:\.0+)?\Z", re.ASCII)
_NUMERIC = re.compile(r"[0-9.eE+-]+", re.ASCII)
_NUMBERED = re.compile(r"<(\d+)>")


class Mark(NamedTuple):
    """Characters `start` to `end` of a text, and what shall stand there."""

    start: int
    end: int
    words: str


def without(text: str, marks: Sequence[Mark]) -> str:
    """The text with every mark set; of marks that overlap, the words of the first stand for all."""
    return _applied(text, _edits(text, merged(marks), 0))


def standing(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """Of each place, whether something would be taken out there: nothing is of one that is but a
    part of a number.
    """
    doubtful = [
        Mark(*place, f"<{at}>")
        for at, place in enumerate(places)
        if _NUMERIC.fullmatch(text, *place)
    ]
    if not doubtful:
        return [True] * len(places)
    left = {int(at) for edit in _edits(text, doubtful, 0) for at in _NUMBERED.findall(edit.words)}
    refused = {int(mark.words[1:-1]) for mark in doubtful} - left
    return [at not in refused for at in range(len(places))]


def merged(marks: Sequence[Mark]) -> list[Mark]:
    """In order, those that overlap as one."""
    found: list[Mark] = []
    for mark in sorted(marks, key=lambda one: (one.start, -one.end)):
        if found and mark.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, mark.end))
        else:
            found.append(mark)
    return found


def _applied(text: str, edits: Sequence[Mark]) -> str:
    pieces, at = list[str](), 0
    for edit in edits:
        pieces += (text[at : edit.start], edit.words)
        at = edit.end
    return "".join((*pieces, text[at:]))


def _edits(text: str, marks: Sequence[Mark], depth: int) -> list[Mark]:
    """Changes in order that do not overlap. A mark that leaves a document within a text makes it
    part of the text.
    """
    all_of_them, edits, plain, at = _Marks(marks), list[Mark](), list[Mark](), 0
    for document in _documents(text, marks, depth):
        first, behind = all_of_them.touching(document.start, document.end)
        if not (inside := marks[first:behind]):
            continue
        within = inside[0].start >= document.start and inside[-1].end <= document.end
        if within or whole(text) is not None:
            edits += _in_document(text, document, inside, depth)
            plain += marks[at:first]
            at = behind
    return sorted([*edits, *_in_plain(text, [*plain, *marks[at:]])])


def _documents(text: str, marks: Sequence[Mark], depth: int) -> list[Document]:
    """Those that hold marks; a lone number in a string is none: it is text already."""
    found = (
        documents(text, [(mark.start, mark.end) for mark in marks])
        if marks and depth < DEEPEST
        else []
    )
    return [
        one
        for one in found
        if not depth or text[one.start : one.end].lstrip()[:1] in ("{", "[", '"')
    ]


class _Marks:
    """Marks in order; tells which of them touch a part of the text."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._starts = [mark.start for mark in marks]
        self._ends = [mark.end for mark in marks]

    def touching(self, start: int, end: int) -> tuple[int, int]:
        """The first of them, and the one behind the last."""
        return bisect_right(self._ends, start), bisect_left(self._starts, end)


def _in_plain(text: str, marks: Sequence[Mark]) -> Iterator[Mark]:
    """Outside of JSON all of a mark is set, unless it is but a part of a decimal number."""
    numbers = list(_FLOAT.finditer(text)) if marks else []
    starts = [number.start() for number in numbers]
    for mark in marks:
        at = bisect_right(starts, mark.start) - 1
        around = numbers[at] if at >= 0 and mark.end <= numbers[at].end() else None
        if around is None or _is_all_of(mark, around[0], around.start()):
            yield mark


def _is_all_of(mark: Mark, number: str, start: int) -> bool:
    """Whether a mark covers a number: its digits, but for a sign and for zeros behind the decimal
    point.
    """
    integral = _INTEGRAL.match(number)
    first, last = integral.span(1) if integral else (number[0] in "+-", len(number))
    return mark.start <= start + first and mark.end >= start + last


def _in_document(
    text: str, document: Document, marks: Sequence[Mark], depth: int
) -> Iterator[Mark]:
    keys: dict[Token, tuple[list[Mark], str]] = {}
    all_of_them = _Marks(marks)
    for token in document.tokens:
        hits = marks[slice(*all_of_them.touching(token.start, token.end))]
        if not hits:
            continue
        if token.kind == "number":
            all_of_it = next(
                (
                    hit
                    for hit in hits
                    if _is_all_of(hit, text[token.start : token.end], token.start)
                ),
                None,
            )
            if all_of_it is not None:
                yield Mark(token.start, token.end, json.dumps(all_of_it.words))
        elif token.kind == "key":
            keys[token] = _in_string(text, token, hits, depth)
        else:
            yield from _in_string(text, token, hits, depth)[0]
    yield from _in_keys(text, document, keys)


def _in_string(text: str, token: Token, hits: Sequence[Mark], depth: int) -> tuple[list[Mark], str]:
    """The changes of a string, and what it says then; an escape that a mark touches belongs to it,
    but for white space before it.
    """
    layer = unescaped(text, token)
    origins = layer.origins
    assert origins is not None
    inner = []
    for hit in hits:
        start, end = (
            max(0, bisect_right(origins, hit.start) - 1),
            bisect_left(origins, min(hit.end, token.end - 1)),
        )
        if origins[start] < hit.start and layer.text[start : start + 1].isspace():
            start += 1
        if start < end:
            inner.append(Mark(start, end, hit.words))
    edits = _edits(layer.text, merged(inner), depth + 1)
    outer = [
        Mark(origins[edit.start], origins[edit.end], json.dumps(edit.words)[1:-1]) for edit in edits
    ]
    return outer, _applied(layer.text, edits)


def _in_keys(
    text: str, document: Document, keys: Mapping[Token, tuple[list[Mark], str]]
) -> Iterator[Mark]:
    """The changes of keys; two that would become one are numbered, so that no value is lost."""
    holders = {token.holder for token in keys}
    said = {
        token: unescaped(text, token).text
        for token in document.tokens
        if token.kind == "key" and token.holder in holders
    }
    taken = {
        (token.holder, name): name
        for token, name in said.items()
        if token not in keys or not keys[token][0]
    }
    for token, (edits, name) in keys.items():
        if not edits:
            continue
        number, told = 1, name
        while taken.setdefault((token.holder, told), said[token]) != said[token]:
            number += 1
            told = f"{name} #{number}"
        yield from edits
        if number > 1:
            yield Mark(token.end - 1, token.end - 1, f" #{number}")
