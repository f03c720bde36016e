"""A stream of bytes -> JSON records: one per line, the elements of an array, or one document; told
apart by content.

Memory is bounded by one record. A broken line is a rejection of that line; an array or a document
whose text is broken is a rejection of the whole file.
"""

import codecs
import io
import re
from collections.abc import Iterator

from synth.importers.decompression import Unpacked
from synth.importers.json_value import end_of_value, record_at, why
from synth.importers.records import WHOLE, ImportSettings, Record, Rejection

_LINES_TRIED = 20
_SPACE = b" \t\r\n"
_BLANK = re.compile(r"[ \t\r\n]*")
_UTF16_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_CHUNK = 1 << 20


def records(file: Unpacked, settings: ImportSettings) -> Iterator[Record | Rejection]:
    """Every record of a file, or why it is none."""
    limit = settings.max_record_bytes
    with file.open() as stream:
        head, line, at = _start(stream)
        if not head:
            yield Rejection(file.name, WHOLE, "empty")
        elif head.startswith(_UTF16_32):
            yield Rejection(
                file.name, WHOLE, "not_utf8", "UTF-16 or UTF-32: convert it first (iconv -t UTF-8)"
            )
        elif head[:1] not in (b"{", b"["):
            yield Rejection(file.name, WHOLE, _why(head), "begins with neither { nor [")
        elif _is_lines(head, whole=at + len(head) >= file.size):
            yield from _lines(stream, file, line, at, limit)
        elif head.startswith(b"["):
            yield from _array(_Window(stream, limit), file)
        else:
            yield _document(stream.read(limit + 1).decode("utf-8", "surrogateescape"), file, limit)


def _start(stream: io.BufferedReader) -> tuple[bytes, int, int]:
    """The first bytes that are no white space, still to be read, the number of the line in which
    they stand, and their place.
    """
    at, line = 0, 1
    if stream.peek(_CHUNK).startswith(codecs.BOM_UTF8):
        at = len(stream.read(len(codecs.BOM_UTF8)))
    while head := stream.peek(_CHUNK):
        blank = head[: len(head) - len(head.lstrip(_SPACE))]
        line += blank.count(b"\n")
        at += len(stream.read(len(blank)))
        if len(blank) < len(head):
            return head[len(blank) :], line, at
    return b"", line, at


def _is_lines(head: bytes, *, whole: bool) -> bool:
    """Whether this is one record per line.

    It is where the first line is a whole object, or a whole array that other lines follow or that
    is itself a chat; and where the first line is broken, but another one that opens at the margin
    is whole.
    """
    first, newline, rest = head.partition(b"\n")
    if not newline and not whole:  # a first line longer than the head
        return first.startswith(b"{") or _is_chat(first)
    if first.strip() in (b"{", b"["):
        return False
    if _is_whole(first):
        return first.startswith(b"{") or bool(rest.strip()) or _is_chat(first)
    others = [line for line in rest.split(b"\n") if line.strip()][: _LINES_TRIED - 1]
    return any(line.startswith((b"{", b"[")) and _is_whole(line) for line in others)


def _is_whole(line: bytes) -> bool:
    text = line.decode("utf-8", "surrogateescape").strip()
    try:
        return end_of_value(text, 0)[1] == len(text)
    except (ValueError, RecursionError):
        return False


def _is_chat(text: bytes) -> bool:
    """Whether an array is one bare list of chat messages, and not a list of records: its first
    element has a role.
    """
    inside = text[1:].lstrip(_SPACE).decode("utf-8", "surrogateescape")
    try:
        first, _ = end_of_value(inside, 0)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and isinstance(first.get("role"), str)


def _lines(
    stream: io.BufferedReader, file: Unpacked, number: int, at: int, limit: int
) -> Iterator[Record | Rejection]:
    while line := stream.readline(limit + 1):
        end = at + len(line.rstrip(b"\r\n"))
        record = Record(file.name, file.sha_at(end), f"line{number}", None)
        at += len(line)
        if len(line) > limit and not line.endswith(b"\n"):
            while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                at += len(rest)
            at += len(rest)
            yield record.rejected("record_too_large", f"more than {limit} bytes")
        elif text := line.decode("utf-8", "surrogateescape").strip(" \t\r\n"):
            found, after = record_at(text, 0, record)
            if after is not None and after < len(text) and isinstance(found, Record):
                found = record.rejected("not_json", f"text after the value at character {after}")
            yield found
        number += 1


def _document(text: str, file: Unpacked, limit: int) -> Record | Rejection:
    """The one value of a file."""
    whole = Record(file.name, file.sha, WHOLE, None)
    if len(text) > limit:
        return whole.rejected("record_too_large", f"one JSON value of more than {limit} bytes")
    found, end = record_at(text, 0, whole)
    if isinstance(found, Record) and end is not None and text[end:].strip(" \t\r\n"):
        return whole.rejected(why(text), f"text after the value at character {end}")
    return found


class _Window:
    """The text of a stream from the element under way on."""

    def __init__(self, stream: io.BufferedReader, limit: int) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._dropped = 0
        self.limit = limit
        self.text = ""
        self.ended = False

    def more(self, at: int) -> None:
        """Forgets what stands before `at`, and takes in at least as much text as is left: long
        values are tried a few times only.
        """
        self.text = self.text[at:]
        self._dropped += at
        chunk = self._stream.read(max(_CHUNK, len(self.text)))
        self.ended = not chunk
        self.text += self._decoder.decode(chunk, final=self.ended)

    def next(self, at: int) -> int:
        """The place of the next character that is no white space; the end of the text where there
        is none.
        """
        while (place := _BLANK.match(self.text, at).end()) == len(self.text) and not self.ended:  # type: ignore[union-attr]
            self.more(place)
            at = 0
        return place

    def place(self, at: int) -> int:
        """A place in the text as one in the file, in characters."""
        return self._dropped + at


def _array(window: _Window, file: Unpacked) -> Iterator[Record | Rejection]:
    """The elements of an array, one at a time."""
    window.more(0)
    at, index = window.next(1), 0
    if window.text.startswith("]", at):
        yield Rejection(file.name, WHOLE, "empty", "an array without records")
        return
    while True:
        record = Record(file.name, file.sha, str(index), None)
        found, at, end = _element(window, at, record)
        if (
            index == 0
            and isinstance(found, Record)
            and isinstance(found.value, dict)
            and isinstance(found.value.get("role"), str)
        ):
            while not window.ended and len(window.text) <= window.limit:
                window.more(0)
            yield _document(window.text, file, window.limit)
            return
        if end is None:
            place = f"{record.locator}, at character {window.place(at)}"
            detail = found.detail if isinstance(found, Rejection) else ""
            reason = found.reason if isinstance(found, Rejection) else "not_json"
            yield Record(file.name, file.sha, WHOLE, None).rejected(
                reason, f"in the array's element {place}: {detail}"
            )
            return
        yield found
        at, index = window.next(end), index + 1
        closed = window.text.startswith("]", at)
        if closed or window.text.startswith(",", at):
            at = window.next(at + 1)
        else:
            yield _broken(window, file, at, "neither , nor ]")
            return
        if closed:
            if at < len(window.text):
                yield _broken(window, file, at, "text after the array")
            return


def _broken(window: _Window, file: Unpacked, at: int, what: str) -> Rejection:
    detail = f"{what} at character {window.place(at)}"
    return Rejection(file.name, WHOLE, why(window.text[at:]), detail)


def _element(
    window: _Window, at: int, record: Record
) -> tuple[Record | Rejection, int, int | None]:
    """The element at a place of the window, where it begins and ends; the window is read on until
    the element is whole.
    """
    while True:
        found, end = record_at(window.text, at, record)
        cut = end is None or (
            end == len(window.text) and not isinstance(getattr(found, "value", None), dict | list)
        )
        if (
            window.ended
            or not cut
            or (
                isinstance(found, Rejection)
                and found.reason in ("nested_too_deep", "out_of_memory")
            )
        ):
            return found, at, end
        if len(window.text) - at > window.limit:
            return record.rejected("record_too_large", f"more than {window.limit} bytes"), at, None
        # the first element may turn out to be a message of one chat: its list is needed whole
        keep = 0 if record.locator == "0" else at
        window.more(keep)
        at -= keep


def _why(head: bytes) -> str:
    return why(codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head))
