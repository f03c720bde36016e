"""Takes keys out of what a server says, however it spells them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import re2

from synth.keys.reading import MARKED, in_bytes, otherwise_read, readings
from synth.keys.spellings import spellings
from synth.text.layers import Layer

KEY_REMOVED = "api_key_removed"
"""The repair that a reply names in which the key was found."""
MARK = "[key]"
"""Of a model's key."""
SHORTEST = 12
"""Characters from which on a model's key is looked for: what is shorter ("EMPTY", "dummy") is no
secret, but may be a word.
"""
PIECE = 8
"""Characters that a piece of a key has at least."""
SEEN, LONGEST_SEEN = 512, 64 << 10
"""Texts that are remembered with what they became: the facts of a world are read again at every
step.
"""
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_REST_OF_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]*+=*")
_ESCAPED = re.compile(rb"(?<!\\)(?:\\\\)*\\[nrtbfu\"/\\]\Z")
_MOST_BACKSLASHES = 64


class _Spelling(NamedTuple):
    """A spelling of a key, the least piece of it that counts, and whether it is base64."""

    text: bytes
    least: int
    mark: bytes
    is_base64: bool


class KeyRemover:
    """Puts a mark in the place of each key: `keys` are texts by their marks, as `<SHOP_TOKEN>`.

    A key is found as it is, in base64 (within longer base64 too, all of which goes), in
    hexadecimal, and those in each other, in any case of letters, with the escapes of JSON, URLs and
    HTML; and so is a piece that is more than half of it, such as an echo that was cut. What it
    finds depends on the keys and the text alone. Keys shorter than `shortest` are left where they
    are.
    """

    def __init__(self, keys: Mapping[str, str], *, shortest: int = SHORTEST) -> None:
        looked_for = {mark: key for mark, key in keys.items() if len(key) >= shortest}
        self._marks = any(MARKED & set(key) for key in keys.values())
        self._remembered = lru_cache(SEEN)(self._without)
        of_anchors = defaultdict[bytes, list[tuple[_Spelling, int]]](list)

        for mark, key in looked_for.items():
            for text, is_base64 in spellings(key.encode("utf-8", "surrogateescape")).items():
                spelling = _Spelling(text, max(PIECE, len(text) // 2 + 1), mark.encode(), is_base64)
                # so close to each other that any piece of `least` bytes holds one of them whole
                size = (spelling.least + 1) // 2
                for at in range(0, len(text) - size + 1, size):
                    of_anchors[text[at : at + size]].append((spelling, at))

        self._places = _with_beginnings(of_anchors)
        if self._places:
            any_of_them = b"|".join(map(re2.escape, self._places))
            self._anchor = in_bytes(any_of_them)
            self._worth_a_look = in_bytes(
                b"(?i:" + any_of_them + b")|" + otherwise_read(marks=self._marks)
            )

    def clean(self, body: bytes) -> bytes:
        """The bytes with marks in the keys' places; the same object where no key is in them."""
        if not self._places or self._worth_a_look.search(body) is None:
            return body

        pieces, last = list[bytes](), 0
        found = (self._spans(one, body) for one in readings(body, marks=self._marks))

        for start, end, mark in sorted(span for spans in found for span in spans):
            if start >= last:
                pieces += [body[last:start], mark]

            last = max(last, end)

        return b"".join([*pieces, body[last:]]) if pieces else body

    def clean_text(self, text: str) -> str:
        """The same for a text."""
        if not self._places:
            return text

        return self._remembered(text) if len(text) <= LONGEST_SEEN else self._without(text)

    def _without(self, text: str) -> str:
        """A text without the keys."""
        body = text.encode("utf-8", "surrogatepass")
        cleaned = self.clean(body)
        return text if cleaned is body else cleaned.decode("utf-8", "replace")

    def cleaned(self, value: Any) -> Any:
        """The same for a JSON value: its texts, names in objects, and numbers.

        A number that holds a key becomes a text.
        """
        if isinstance(value, str):
            return self.clean_text(value)

        if isinstance(value, Mapping):
            return {self.cleaned(name): self.cleaned(one) for name, one in value.items()}

        if isinstance(value, list | tuple):
            return [self.cleaned(one) for one in value]

        if isinstance(value, int | float) and not isinstance(value, bool):
            found = self.clean_text(str(value))
            return value if found == str(value) else found

        return value

    def _spans(self, reading: Layer, body: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Where pieces of keys stand in the text as it stands, with their marks."""
        text, at = reading.text.encode("latin-1").lower(), 0

        while (hit := self._anchor.search(text, at)) is not None:
            found = [
                (_piece(text, hit.start(), spelling, offset), spelling)
                for spelling, offset in self._places[hit.group()]
            ]
            # of keys that begin alike, the one of which the most is there
            (first, last), spelling = max(
                found, key=lambda one: (one[0][1] - one[0][0], -len(one[1].text))
            )

            if first < last:
                start, end = reading.origin(first, last)
                begin, stop = _all_base64(body, start, end) if spelling.is_base64 else (start, end)
                begin = min(begin + _width_in_escape(body, begin), max(start, begin + 1))
                yield begin, stop, spelling.mark

            at = max(hit.start() + 1, last)


def _with_beginnings(
    of_anchors: Mapping[bytes, list[tuple[_Spelling, int]]],
) -> dict[bytes, list[tuple[_Spelling, int]]]:
    """The places of anchors, the longest first: where one is found, so are those that it begins
    with.
    """
    anchors = sorted(of_anchors, key=len, reverse=True)
    return {
        anchor: [
            place for other in anchors if anchor.startswith(other) for place in of_anchors[other]
        ]
        for anchor in anchors
    }


def _piece(text: bytes, at: int, spelling: _Spelling, offset: int) -> tuple[int, int]:
    """How far a text agrees with a spelling around an anchor; nothing where that is too little."""
    before, after = spelling.text[:offset], spelling.text[offset:]
    start = at - _in_common(text[max(0, at - offset) : at][::-1], before[::-1])
    end = at + _in_common(text[at : at + len(after)], after)
    # in UTF-8 the rest of a letter may be the same while its first byte is another one
    while start < end and text[start] & 0xC0 == 0x80:
        start += 1

    while start < end < len(text) and text[end] & 0xC0 == 0x80:
        end -= 1

    return (start, end) if end - start >= spelling.least else (0, 0)


def _in_common(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin alike with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _all_base64(text: bytes, start: int, end: int) -> tuple[int, int]:
    """All of the base64 around a span.

    What stands beside the key in it shares bits with the key, and moves with its length.
    """
    while start > 0 and text[start - 1] in _BASE64:
        start -= 1

    rest = _REST_OF_BASE64.match(text, end)

    return start, end if rest is None else rest.end()


def _width_in_escape(text: bytes, at: int) -> int:
    """How many characters at a place belong to an escape that begins before it.

    The n of a line break is no letter of what follows it.
    """
    escaped = _ESCAPED.search(text[max(0, at - _MOST_BACKSLASHES) : at + 1])
    return 0 if escaped is None else 5 if text[at : at + 1] == b"u" else 1
