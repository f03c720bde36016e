"""Takes keys out of what a server says, however it spells them."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import re2

from synth.keys.reading import MARKED, KeyReading, in_bytes, otherwise_read, readings
from synth.keys.spellings import spellings

KEY_REMOVED = "api_key_removed"
"""The repair that a reply names in which the key was found."""
MARK = "[key]"
"""Of a model's key."""
SHORTEST = 12
"""Characters from which on a model's key is looked for: what is shorter ("EMPTY", "dummy") is no
secret, but may be a word.
"""
PIECE, START = 8, 4
"""Characters that a piece of a key has at least; and those by which its anchors, the half of that,
are looked up.
"""
SEEN, LONGEST_SEEN = 512, 64 << 10
"""Texts that are remembered with what they became: the facts of a world are read again at every
step.
"""
_ESCAPED_BY = rb"nrtbfu\"/\\"
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class KeyRemover:
    """Puts a mark in the place of each key: `keys` are texts by their marks, such as
    `<SHOP_TOKEN>`.

    A key is found as it is, in base64 (within longer base64 too, all of which goes), in
    hexadecimal, and those in each other, in any case
    of letters, with the escapes of JSON, URLs and HTML; and so is a piece that is more than half of
    it, such as an echo that was cut. What
    it finds depends on the keys and the text alone. Keys shorter than `shortest` are left where
    they are.
    """

    def __init__(self, keys: Mapping[str, str], *, shortest: int = SHORTEST) -> None:
        self._spelled: list[tuple[bytes, int, bytes, bool]] = []
        self._anchors: dict[bytes, dict[bytes, list[tuple[int, int]]]] = {}
        self._marks = any(MARKED & set(key) for key in keys.values())
        for mark, key in keys.items():
            if len(key) >= shortest:
                self._add(mark.encode(), key.encode("utf-8", "surrogateescape"))
        self._remembered = lru_cache(SEEN)(self._without)
        anchors = b"|".join(
            re2.escape(anchor) for group in self._anchors.values() for anchor in group
        )
        self._any = in_bytes(anchors) if anchors else None
        self._worth_a_look = (
            in_bytes(b"(?i:" + anchors + b")|" + otherwise_read(marks=self._marks))
            if anchors
            else None
        )

    def _add(self, mark: bytes, key: bytes) -> None:
        """Anchors lie so close that any piece of `least` bytes holds one of them whole."""
        for spelled, coded in spellings(key).items():
            least = max(PIECE, len(spelled) // 2 + 1)
            self._spelled.append((spelled, least, mark, coded))
            size = (least + 1) // 2
            for at in range(0, len(spelled) - size + 1, size):
                anchor = spelled[at : at + size]
                self._anchors.setdefault(anchor[:START], {}).setdefault(anchor, []).append(
                    (len(self._spelled) - 1, at)
                )

    def clean(self, body: bytes) -> bytes:
        """The bytes with the marks in the keys' places; the same object where no key is in them."""
        if self._worth_a_look is None or self._worth_a_look.search(body) is None:
            return body
        spans = sorted(
            span
            for reading in readings(body, marks=self._marks)
            for span in self._spans(reading, body)
        )
        if not spans:
            return body
        pieces, last = list[bytes](), 0
        for start, end, mark in spans:
            if end <= last:
                continue
            if start >= last:
                pieces += [body[last:start], mark]
            last = end
        return b"".join([*pieces, body[last:]])

    def clean_text(self, text: str) -> str:
        """The same for a text."""
        if self._any is None:
            return text
        return self._remembered(text) if len(text) <= LONGEST_SEEN else self._without(text)

    def _without(self, text: str) -> str:
        body = text.encode("utf-8", "surrogatepass")
        cleaned = self.clean(body)
        return text if cleaned is body else cleaned.decode("utf-8", "replace")

    def cleaned(self, value: Any) -> Any:
        """The same for a value of JSON: for each text in it, for names in its objects, and for
        numbers, which become texts then.
        """
        if self._any is None:
            return value
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, Mapping):
            return {self.cleaned(name): self.cleaned(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.cleaned(one) for one in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)
            found = self.clean_text(written)
            return value if found == written else found
        return value

    def _spans(self, reading: KeyReading, body: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Where pieces of keys stand in the text as it stands, with their marks."""
        if self._any is None:
            return
        text, at = reading.text.lower(), 0
        while (hit := self._any.search(text, at)) is not None:
            found = max(
                (self._piece(text, hit.start(), *place) for place in self._at(text, hit.start())),
                key=lambda one: one[1] - one[0],
            )
            first, last, which = found
            if first < last:
                _, _, mark, coded = self._spelled[which]
                start, end = reading.span(first, last)
                wide = _run(body, start, end) if coded else (start, end)
                yield (
                    min(wide[0] + _of_an_escape(body, wide[0]), max(start, wide[0] + 1)),
                    wide[1],
                    mark,
                )
            at = max(hit.start() + 1, last)

    def _at(self, text: bytes, at: int) -> Iterator[tuple[int, int]]:
        for anchor, places in self._anchors[text[at : at + START]].items():
            if text.startswith(anchor, at):
                yield from places

    def _piece(self, text: bytes, at: int, which: int, offset: int) -> tuple[int, int, int]:
        """How far a text agrees with a spelling around an anchor; nothing where that is too little
        of it.
        """
        spelled, least, _, _ = self._spelled[which]
        start, first = at, offset
        while start > 0 and first > 0 and text[start - 1] == spelled[first - 1]:
            start, first = start - 1, first - 1
        end, last = at, offset
        while end < len(text) and last < len(spelled) and text[end] == spelled[last]:
            end, last = end + 1, last + 1
        while start < end and text[start] & 0xC0 == 0x80:
            start += 1  # the rest of a letter in UTF-8, whose first byte is another one
        while start < end < len(text) and text[end] & 0xC0 == 0x80:
            end -= 1
        return (start, end, which) if end - start >= least else (0, 0, which)


def _run(text: bytes, start: int, end: int) -> tuple[int, int]:
    """All of the base64 around a span: what stands beside the key in it shares bits with the key,
    and moves with its length.
    """
    while start > 0 and text[start - 1] in _BASE64:
        start -= 1
    while end < len(text) and text[end] in _BASE64:
        end += 1
    while end < len(text) and text[end : end + 1] == b"=":
        end += 1
    return start, end


def _of_an_escape(text: bytes, at: int) -> int:
    """How many characters at a place belong to an escape that begins before it: the n of a line
    break is no letter of what follows it.
    """
    before = len(text[:at]) - len(text[:at].rstrip(b"\\"))
    letter = text[at : at + 1]
    return 0 if before % 2 == 0 or letter not in _ESCAPED_BY else 5 if letter == b"u" else 1
