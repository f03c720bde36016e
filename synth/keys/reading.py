"""A text as it reads once escapes are undone or separators are left out, and where each byte of
that stood.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from html.entities import html5
from typing import Any

import msgspec
import re2

DEEPEST = 3
"""Escapes within escapes, such as %2573."""


def in_bytes(pattern: bytes) -> Any:
    """A pattern of RE2 over bytes; a pattern that it cannot read is never printed, for it may be a
    key.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 1 << 26
    return re2.compile(pattern, options)


_CODES = (
    rb"(?i:\\+u(?P<unicode>[0-9a-f]{4})|\\+x(?P<hex>[0-9a-f]{2})|%(?P<percent>[0-9a-f]{2})|&#(?P<decimal>[0-9]{1,7});"
    rb"|&#x(?P<entity>[0-9a-f]{1,6});|&(?P<named>[a-z]{2,8});)"
)
_MARKS = rb"|\\+(?P<plain>[\"'/`$])|\\(?P<control>[nrtbf])|\\(?P<backslash>\\)"
_CODE, _ESCAPE = re.compile(_CODES), re.compile(_CODES + _MARKS)
_SOME_CODE = rb"(?i:\\[ux][0-9a-f]{2}|%[0-9a-f]{2}|&#x?[0-9a-f]{1,7};|&[a-z]{2,8};)"
_SOME_ESCAPE = _SOME_CODE + rb"|\\[\"'/`$\\nrtbf]"
_ANY_CODE, _ANY_ESCAPE = in_bytes(_SOME_CODE), in_bytes(_SOME_ESCAPE)
MARKED = frozenset("\"'/`$\\\n\r\t\b\f")
"""Characters that are written with a backslash before them, or as a letter after one."""
_CONTROL = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_GAP = re.compile(rb"(?:\s|\\+[nr])+")
_LONG = rb"[A-Za-z0-9+/_-]{16,}(?:\s|\\+[nr])+[A-Za-z0-9+/_-]{4,}"
_BETWEEN = re.compile(rb"(?:[\s:,-]|\\+[nrx]|0x)+")
_NUMBERS = rb"(?i:(?:[0-9a-f]{2}(?:[\s:,-]|\\+[nrx]|0x)+){7})"
_BROKEN, _PAIRS = in_bytes(_LONG), in_bytes(_NUMBERS)


def otherwise_read(*, marks: bool) -> bytes:
    """A pattern of what has other readings than the one as it stands."""
    return b"|".join((_SOME_ESCAPE if marks else _SOME_CODE, _LONG, _NUMBERS))


class KeyReading(msgspec.Struct, frozen=True):
    """The bytes, and the changes that made them from those that were read: where each stands
    (`starts`, `ends`), and where it stood.
    """

    text: bytes
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    began: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    of: "KeyReading | None" = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A span of these bytes in the text as it stands; an escape that it touches belongs to
        it.
        """
        if self.of is None:
            return start, end
        first = bisect_right(self.ends, start)
        if first < len(self.starts) and self.starts[first] <= start:
            start = self.began[first]
        elif first:
            start += self.ended[first - 1] - self.ends[first - 1]
        last = bisect_left(self.ends, end)
        if last < len(self.starts) and self.starts[last] < end:
            end = self.ended[last]
        elif last:
            end += self.ended[last - 1] - self.ends[last - 1]
        return self.of.span(start, end)


def readings(text: bytes, *, marks: bool) -> Iterator[KeyReading]:
    """The text as it stands, without escapes level by level, and with long words and hexadecimal
    numbers in one piece.

    `marks`: escapes of `MARKED` characters are undone too, of which every text in JSON has many.
    """
    there, each = (_ANY_ESCAPE, _ESCAPE) if marks else (_ANY_CODE, _CODE)
    reading = KeyReading(text)
    yield reading
    for _ in range(DEEPEST):
        if there.search(reading.text) is None:
            break
        reading = _replaced(reading, each, _character)
        yield reading
    if _BROKEN.search(reading.text) is not None:
        yield _replaced(reading, _GAP, _nothing)
    if _PAIRS.search(reading.text) is not None:
        yield _replaced(reading, _BETWEEN, _nothing)


def _nothing(_: "re.Match[bytes]") -> bytes:
    return b""


def _replaced(
    reading: KeyReading, pattern: re.Pattern[bytes], by: Callable[["re.Match[bytes]"], bytes]
) -> KeyReading:
    pieces, starts, ends, began, ended = (
        list[bytes](),
        list[int](),
        list[int](),
        list[int](),
        list[int](),
    )
    last, length = 0, 0
    for found in pattern.finditer(reading.text):
        new = by(found)
        length += found.start() - last
        pieces += [reading.text[last : found.start()], new]
        starts.append(length)
        length += len(new)
        ends.append(length)
        began.append(found.start())
        ended.append(found.end())
        last = found.end()
    pieces.append(reading.text[last:])
    return KeyReading(
        b"".join(pieces), tuple(starts), tuple(ends), tuple(began), tuple(ended), reading
    )


def _character(found: "re.Match[bytes]") -> bytes:
    """What an escape stands for, in UTF-8."""
    kind = str(found.lastgroup)
    written = found[kind]
    if kind in ("plain", "backslash"):
        return written
    if kind == "control":
        return _CONTROL[written]
    if kind == "named":
        return html5.get(f"{written.decode()};", found[0].decode()).encode()
    number = int(written, 10 if kind == "decimal" else 16)
    if kind in ("percent", "hex"):
        return bytes([number])
    return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else found[0]
