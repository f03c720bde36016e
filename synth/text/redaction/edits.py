"""Puts marks in place of findings, in words and in JSON at any depth, and never inside a number.

What was JSON stays JSON of the same structure, and every character that belongs to no finding stays
as it was.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from synth.text.redaction.json_tokens import Document, Token, documents, unescaped

DEEPEST = 32
"""Levels of JSON within strings of JSON that are read; each at least doubles the escapes of the
next.
"""
_FLOAT = re.compile(r"(?<![\w.])[-+]?\d*\.\d+(?:[eE][-+]?\d+)?(?!\w|\.\d)", re.ASCII)
_INTEGRAL = re.compile(r"[-+]?(\d+)(?:\.0+)?\Z", re.ASCII)
_NUMERIC = re.compile(r"[0-9.eE+-]+", re.ASCII)
_NUMBERED = re.compile(r"<(\d+)>")
_START, _END = attrgetter("start"), attrgetter("end")


class Mark(NamedTuple):
    """Characters `start` to `end` of a text, and what shall stand there."""

    start: int
    end: int
    words: str


def without(text: str, marks: Sequence[Mark]) -> str:
    """The text with every mark set; of marks that overlap, the words of the first stand for all."""
    return _applied(text, _edits(text, merged(marks), 0))


def standing(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """Of each place, whether something would be taken out there.

    Nothing is where the place is but a part of a number.
    """
    doubtful = {at for at, place in enumerate(places) if _NUMERIC.fullmatch(text, *place)}
    if not doubtful:
        return [True] * len(places)

    edits = _edits(text, [Mark(*places[at], f"<{at}>") for at in sorted(doubtful)], 0)
    left = {int(at) for edit in edits for at in _NUMBERED.findall(edit.words)}

    return [at not in doubtful or at in left for at in range(len(places))]


def merged(marks: Sequence[Mark]) -> list[Mark]:
    """The marks in order, those that overlap as one."""
    found: list[Mark] = []

    for mark in sorted(marks, key=lambda one: (one.start, -one.end)):
        if found and mark.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, mark.end))
        else:
            found.append(mark)

    return found


def _applied(text: str, edits: Sequence[Mark]) -> str:
    """The text with edits made, which are in order and apart."""
    pieces, at = list[str](), 0
    for edit in edits:
        pieces += (text[at : edit.start], edit.words)
        at = edit.end

    return "".join((*pieces, text[at:]))


def _touching(marks: Sequence[Mark], start: int, end: int) -> slice:
    """Which of the marks, in order, touch a part of the text."""
    return slice(bisect_right(marks, start, key=_END), bisect_left(marks, end, key=_START))


def _edits(text: str, marks: Sequence[Mark], depth: int) -> list[Mark]:
    """The changes that set marks, in order and apart from each other.

    A mark that leaves a document within a text makes the document a part of the text.
    """
    edits, plain, at = list[Mark](), list[Mark](), 0

    for document in _documents(text, marks, depth):
        touching = _touching(marks, document.start, document.end)
        inside = marks[touching]

        if inside and inside[0].start >= document.start and inside[-1].end <= document.end:
            edits += _in_document(text, document, inside, depth)
            plain += marks[at : touching.start]
            at = touching.stop

    return sorted([*edits, *_in_words(text, [*plain, *marks[at:]])])


def _documents(text: str, marks: Sequence[Mark], depth: int) -> list[Document]:
    """Those that hold marks; a lone number in a string is none: it is text already."""
    if not marks or depth >= DEEPEST:
        return []

    found = documents(text, [(mark.start, mark.end) for mark in marks])

    return [one for one in found if not depth or text[one.start :].lstrip()[:1] in ("{", "[", '"')]


def _in_words(text: str, marks: Sequence[Mark]) -> Iterator[Mark]:
    """Outside of JSON all of a mark is set, unless it is but a part of a decimal number."""
    numbers = list(_FLOAT.finditer(text)) if marks else []

    for mark in marks:
        at = bisect_right(numbers, mark.start, key=re.Match.start) - 1
        number = numbers[at] if at >= 0 and mark.end <= numbers[at].end() else None
        if number is None or _covers(mark, number[0], number.start()):
            yield mark


def _covers(mark: Mark, number: str, start: int) -> bool:
    """Whether a mark covers all of a number but its sign and the zeros behind its decimal point."""
    integral = _INTEGRAL.match(number)
    first, last = integral.span(1) if integral else (number[0] in "+-", len(number))

    return mark.start <= start + first and mark.end >= start + last


def _in_document(
    text: str, document: Document, marks: Sequence[Mark], depth: int
) -> Iterator[Mark]:
    """The changes of a JSON document; marks touch keys, strings and numbers alone."""
    keys: dict[Token, tuple[list[Mark], str]] = {}
    for token in document.tokens:
        hits = marks[_touching(marks, token.start, token.end)]
        if not hits:
            continue

        if token.kind == "number":
            number = text[token.start : token.end]
            covering = [hit for hit in hits if _covers(hit, number, token.start)]
            for hit in covering[:1]:
                yield Mark(token.start, token.end, json.dumps(hit.words))
        elif token.kind == "key":
            keys[token] = _in_string(text, token, hits, depth)
        else:
            yield from _in_string(text, token, hits, depth)[0]

    yield from _in_keys(text, document, keys)


def _in_string(text: str, token: Token, hits: Sequence[Mark], depth: int) -> tuple[list[Mark], str]:
    """The changes of a string, and what it says then.

    An escape that a mark touches belongs to it, but for white space before it.
    """
    layer = unescaped(text, token)
    begins, _ = layer.places
    offset = token.start + 1
    inner = []

    for hit in hits:
        start = max(0, bisect_right(begins, hit.start - offset) - 1)
        end = bisect_left(begins, min(hit.end, token.end - 1) - offset)
        if begins[start] < hit.start - offset and layer.text[start : start + 1].isspace():
            start += 1

        if start < end:
            inner.append(Mark(start, end, hit.words))

    edits = _edits(layer.text, merged(inner), depth + 1)
    outer = [
        Mark(begins[start] + offset, begins[end] + offset, json.dumps(words)[1:-1])
        for start, end, words in edits
    ]

    return outer, _applied(layer.text, edits)


def _in_keys(
    text: str, document: Document, changed: Mapping[Token, tuple[list[Mark], str]]
) -> Iterator[Mark]:
    """The changes of keys; two that would become one are numbered, so that no value is lost."""
    holders = {token.holder for token in changed}
    keys = [one for one in document.tokens if one.kind == "key" and one.holder in holders]
    said = {token: unescaped(text, token).text for token in keys}
    taken = {
        (token.holder, said[token]): said[token]
        for token in keys
        if token not in changed or not changed[token][0]
    }

    for token, (edits, name) in changed.items():
        number, told = 1, name
        while edits and taken.setdefault((token.holder, told), said[token]) != said[token]:
            number += 1
            told = f"{name} #{number}"

        yield from edits
        if number > 1:
            yield Mark(token.end - 1, token.end - 1, f" #{number}")
