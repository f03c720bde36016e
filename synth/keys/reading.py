"""A text as it reads once escapes are undone or separators are left out.

Bytes are read as characters of Latin-1, one each, so that places in a text are those of its bytes.
"""

import re
from collections.abc import Iterator
from typing import Any

import re2

from synth.text.layers import DEEPEST, Layer, character

_CODES = (
    r"(?i:(?<!\\)\\++(?:u(?P<unicode>[0-9a-f]{4})|x(?P<hex>[0-9a-f]{2}))"
    r"|%(?P<percent>[0-9a-f]{2})|&#(?P<decimal>[0-9]{1,7});|&#x(?P<entity>[0-9a-f]{1,6});"
    r"|&(?P<named>[a-z]{2,8});)"
)
_MARKS = r"|(?:(?<!\\)\\++(?=[\"'/`$])|\\(?=[nrtbf\\]))(?P<plain>[\"'/`$nrtbf\\])"
_CODE, _ESCAPE = re.compile(_CODES), re.compile(_CODES + _MARKS)
_SOME_CODE = rb"(?i:\\[ux][0-9a-f]{2}|%[0-9a-f]{2}|&#x?[0-9a-f]{1,7};|&[a-z]{2,8};)"
_SOME_ESCAPE = _SOME_CODE + rb"|\\[\"'/`$\\nrtbf]"
MARKED = frozenset("\"'/`$\\\n\r\t\b\f")
"""Characters that are written with a backslash before them, or as a letter after one."""

_GAP = re.compile(r"(?:\s|\\[nr])+")
_LONG = rb"[A-Za-z0-9+/_-]{16,}(?:\s|\\+[nr])+[A-Za-z0-9+/_-]{4,}"
_BETWEEN = re.compile(r"(?:[\s:,-]|\\[nrx]|0x)+")
_NUMBERS = rb"(?i:(?:[0-9a-f]{2}(?:[\s:,-]|\\+[nrx]|0x)+){7})"


def in_bytes(pattern: bytes) -> Any:
    """A pattern of RE2 over bytes, read in time that grows with the text alone.

    One that it cannot read is never printed, for it may be a key.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 1 << 26

    return re2.compile(pattern, options)


_HAS_CODE, _HAS_ESCAPE = in_bytes(_SOME_CODE), in_bytes(_SOME_ESCAPE)
_SEPARATED = ((in_bytes(_LONG), _GAP), (in_bytes(_NUMBERS), _BETWEEN))
"""What tells that words or hexadecimal numbers stand in pieces, and what then stands between."""


def otherwise_read(*, marks: bool) -> bytes:
    """A pattern of what has other readings than the one as it stands."""
    return b"|".join((_SOME_ESCAPE if marks else _SOME_CODE, _LONG, _NUMBERS))


def readings(text: bytes, *, marks: bool) -> Iterator[Layer]:
    """The text as it stands, without escapes level by level, and with its pieces in one.

    `marks`: escapes of `MARKED` characters are undone too, of which every text in JSON has many.
    """
    some, escape = (_HAS_ESCAPE, _ESCAPE) if marks else (_HAS_CODE, _CODE)
    layer = Layer(text.decode("latin-1"))
    yield layer

    for _ in range(DEEPEST):
        if some.search(layer.text.encode("latin-1")) is None:
            break

        layer = layer.read(escape, _bytes)
        yield layer

    for found, between in _SEPARATED:
        if found.search(layer.text.encode("latin-1")) is not None:
            yield layer.read(between)


def _bytes(escape: "re.Match[str]") -> str:
    """The bytes of a character in UTF-8; codes of one byte are that byte."""
    said = character(escape)
    if escape.lastgroup in ("percent", "hex"):
        return said

    return said.encode("utf-8", "surrogatepass").decode("latin-1")
