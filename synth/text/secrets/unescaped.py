"""A text as it reads without the escapes that a transcript wraps it in, and where each character
came from.
"""

import base64
import binascii
import re
from array import array
from collections.abc import Iterator

import msgspec

DEEPEST = 3
"""JSON in JSON in JSON; each level is undone once."""
_ESCAPE = re.compile(
    r"""\\(?:u([0-9a-fA-F]{4})|(["'\\/bfnrt]))|%([0-9A-Fa-f]{2})|&(?:\#(\d{1,6})|\#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));"""
    "|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
)
"""JSON's, URLs' and HTML's escapes, and characters without width, which nobody sees in the middle
of a key.
"""
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_PRINTABLE = 0.95


class Layer(msgspec.Struct, frozen=True):
    """A reading of a text; `origins[i]` is where its character i began, with one more for its
    end.
    """

    text: str
    origins: "array[int] | None" = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The span of the text as it stands."""
        return (start, end) if self.origins is None else (self.origins[start], self.origins[end])


def layers(text: str) -> Iterator[Layer]:
    """The text as it stands, then with JSON's and URLs' escapes undone, level by level."""
    layer = Layer(text)
    yield layer
    for _ in range(DEEPEST):
        text = layer.text
        if (
            "\\" not in text and "%" not in text and "&" not in text and text.isascii()
        ) or _ESCAPE.search(text) is None:
            return
        layer = _undone(layer)
        yield layer


def blobs(layer: Layer) -> Iterator[tuple[int, int, str]]:
    """What base64 in a text says, with the blob's place in the text as it stands; only what decodes
    to printable text.
    """
    for match in _BLOB.finditer(layer.text):
        plain = _decoded(match.group())
        if plain is not None:
            yield *layer.origin(*match.span()), plain


def _decoded(blob: str) -> str | None:
    body = blob.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 == 1:
        return None
    try:
        plain = base64.b64decode(body + "=" * (-len(body) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (
        plain
        if sum(char.isprintable() or char in "\n\r\t" for char in plain) >= _PRINTABLE * len(plain)
        else None
    )


def _undone(layer: Layer) -> Layer:
    pieces: list[str] = []
    origins = array("q")
    end = 0
    for match in _ESCAPE.finditer(layer.text):
        pieces.append(layer.text[end : match.start()])
        said = _char(match)
        origins.extend(range(end, match.start() + len(said)))
        pieces.append(said)
        end = match.end()
    pieces.append(layer.text[end:])
    origins.extend(range(end, len(layer.text) + 1))
    if layer.origins is not None:
        origins = array("q", (layer.origins[at] for at in origins))
    return Layer("".join(pieces), origins)


def _char(match: re.Match[str]) -> str:
    """The character that an escape stands for, or nothing where it has no width."""
    code, plain, percent, decimal, hexadecimal, entity = match.groups()
    if plain is not None:
        return _PLAIN.get(plain, plain)
    if entity is not None:
        return _ENTITIES[entity]
    written = code or percent or hexadecimal
    if written is None and decimal is None:
        return ""
    number = int(written, 16) if written is not None else int(decimal)
    return (
        chr(number)
        if number < 0x80
        or (percent is None and number < 0x110000 and not 0xD800 <= number < 0xE000)
        else "\ufffd"
    )
