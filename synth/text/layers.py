"""Readings of a text with its escapes undone, and where each character of them stood."""

import base64
import binascii
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html.entities import html5

Meaning = Callable[[re.Match[str]], str]
DEEPEST = 3
"""JSON in JSON in JSON; each level is undone once."""

_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(
    r"""\\(?:u(?P<unicode>[0-9a-fA-F]{4})|(?P<plain>["'\\/bfnrt]))|%(?P<percent>[0-9A-Fa-f]{2})"""
    r"|&(?:\#(?P<decimal>\d{1,6})|\#[xX](?P<hex>[0-9a-fA-F]{1,6})|(?P<named>amp|lt|gt|quot|apos));"
    "|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
)
"""Escapes of JSON, URLs and HTML, and characters without width, which nobody sees within a key."""
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_PRINTABLE = 0.95


def character(escape: "re.Match[str]") -> str:
    """The character that an escape stands for, by the group that matched; "" where none did."""
    kind = escape.lastgroup
    if kind is None:
        return ""

    written = escape[kind]
    if kind == "plain":
        return _CONTROL.get(written, written)

    if kind == "named":
        return html5.get(f"{written};", escape[0])

    number = int(written, 10 if kind == "decimal" else 16)

    return chr(number) if number < 0x110000 else escape[0]


@dataclass(frozen=True, eq=False)
class Layer:
    """A reading of a text: what `of` says once each match of `pattern` is replaced by its meaning.

    `of` is None for the text itself.
    """

    text: str
    of: "Layer | None" = None
    pattern: "re.Pattern[str] | None" = None
    meaning: Meaning = character

    def read(self, pattern: "re.Pattern[str]", meaning: Meaning = character) -> "Layer":
        """The next reading, in which matches of a pattern are replaced."""
        return Layer(pattern.sub(meaning, self.text), self, pattern, meaning)

    @cached_property
    def places(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where the first and the last character of the text stood that made each character.

        Behind the last character comes the end of the text. Computed when somebody asks for it:
        most texts hold nothing whose place matters.
        """
        if self.of is None or self.pattern is None:
            return range(len(self.text) + 1), range(len(self.text) + 1)

        firsts, lasts, at = array("I"), array("I"), 0

        for found in self.pattern.finditer(self.of.text):
            width = len(self.meaning(found))
            for side, place in ((firsts, found.start()), (lasts, found.end() - 1)):
                side.extend(range(at, found.start()))
                side.extend([place] * width)

            at = found.end()

        for side in (firsts, lasts):
            side.extend(range(at, len(self.of.text) + 1))

        outer_firsts, outer_lasts = self.of.places

        return (
            array("I", map(outer_firsts.__getitem__, firsts)),
            array("I", map(outer_lasts.__getitem__, lasts)),
        )

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The span of the text that made these characters, one at least."""
        firsts, lasts = self.places
        return firsts[start], lasts[end - 1] + 1


def layers(text: str) -> Iterator[Layer]:
    """The text as it stands, then with escapes of JSON, URLs and HTML undone, level by level."""
    layer = Layer(text)
    yield layer

    for _ in range(DEEPEST):
        # most texts hold no sign of an escape, and looking for single signs is much faster
        some = not layer.text.isascii() or any(sign in layer.text for sign in "\\%&")
        if not some or _ESCAPE.search(layer.text) is None:
            return

        layer = layer.read(_ESCAPE, _readable)
        yield layer


def _readable(escape: "re.Match[str]") -> str:
    """The character of an escape; another one for half a surrogate pair and for a byte of UTF-8."""
    said = character(escape)
    alone = escape.lastgroup == "percent" and said > "\x7f"

    return "\ufffd" if alone or "\ud800" <= said < "\ue000" else said


def blobs(layer: Layer) -> Iterator[tuple[int, int, str]]:
    """What base64 in a text says, with its place in the text; only what decodes to printable text.

    Yields (start, end, what it says).
    """
    for found in _BLOB.finditer(layer.text):
        body = found[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            plain = base64.b64decode(body + "=" * (-len(body) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue

        printable = sum(sign.isprintable() or sign in "\n\r\t" for sign in plain)
        if printable >= _PRINTABLE * len(plain):
            yield *layer.origin(*found.span()), plain
