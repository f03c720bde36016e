"""A stream of bytes -> JSON records: one per line, the elements of an array, one document, or
objects one after the other; told apart by content.

Memory is bounded by one record. A broken line is a rejection of that line; an array or a document
whose text is broken is a rejection of the whole file.
"""

import codecs
import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from synth.importers.files.decompression import Unpacked, unpacked
from synth.importers.files.json_value import record_at, value_at, why
from synth.importers.files.json_window import CHUNK, DECODER, SPACE, JsonWindow
from synth.importers.files.tables import rows, table_kind
from synth.importers.nearest import other_kind
from synth.importers.records import WHOLE, ImportSettings, Record, Rejection, is_object

_LINES_TRIED = 20
"""Lines that are looked at to tell one record per line from a document."""
_UTF16_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def records_in(
    path: Path, name: str, settings: ImportSettings, *, loose: bool = False
) -> Iterator[Record | Rejection]:
    """The records of the file at a path, or why it cannot be read."""
    file = unpacked(path, name, frozenset())
    if isinstance(file, Rejection):
        yield file
    else:
        yield from records(file, settings, loose=loose)


def records(
    file: Unpacked, settings: ImportSettings, *, loose: bool = False
) -> Iterator[Record | Rejection]:
    """Every record of a file, or why it is none. `loose`: what is no JSON is a CSV, whatever its
    columns are called.
    """
    limit, whole = settings.max_record_bytes, file.record(WHOLE)

    with file.open() as stream:
        number, at = _start(stream)
        head = stream.peek(CHUNK)
        # incremental, since the head may end within a character
        text = DECODER("surrogateescape").decode(head)

        kind = table_kind(head, loose=loose)

        if not head:
            yield whole.rejected("empty")
        elif kind is not None:
            yield from rows(file, kind, settings)
        elif head.startswith(_UTF16_32):
            yield whole.rejected("not_utf8", "UTF-16 or UTF-32: convert it first (iconv -t UTF-8)")
        elif not text.startswith(("{", "[")):
            yield whole.rejected(why(text), f"begins with neither {{ nor [{other_kind(file.name)}")
        elif _is_lines(text, ends=at + len(head) >= file.size):
            yield from _lines(stream, file, number, at, limit)
        elif text.startswith("["):
            yield from _array(JsonWindow(stream), file, limit)
        else:
            yield from _objects(stream, file, limit)


def _start(stream: io.BufferedReader) -> tuple[int, int]:
    """Reads up to the first byte that is no white space; the number of its line, and its place."""
    number, at = 1, 0
    if stream.peek(CHUNK).startswith(codecs.BOM_UTF8):
        at = len(stream.read(len(codecs.BOM_UTF8)))

    while head := stream.peek(CHUNK):
        blank = stream.read(len(head) - len(head.lstrip(SPACE.encode())))
        number, at = number + blank.count(b"\n"), at + len(blank)
        if len(blank) < len(head):
            break

    return number, at


def _is_lines(head: str, *, ends: bool) -> bool:
    """Whether this is one record per line; `ends` where the head is all of it.

    It is where the first line is a whole object, or a whole array that other lines follow or that
    is itself a chat; and where the first line is broken, but another one that opens at the margin
    is whole.
    """
    first, *rest = head.split("\n", _LINES_TRIED)
    # a message as first element shows an array to be one chat, and no list of records
    message, _ = value_at(first[1:].lstrip(SPACE))
    is_chat = first.startswith("[") and is_object(message, role=str)
    follows = any(line.strip() for line in rest)

    # pretty-printed: its inner lines may be whole values, and are no records
    if first.strip(SPACE) in ("{", "["):
        return False

    if _is_whole(first) or not (rest or ends):  # or a first line longer than the head
        return first.startswith("{") or is_chat or follows

    return any(line.startswith(("{", "[")) and _is_whole(line) for line in rest)


def _is_whole(line: str) -> bool:
    """Whether a line is one JSON value and nothing else."""
    text = line.strip()
    return value_at(text)[1] == len(text)


def _lines(
    stream: io.BufferedReader, file: Unpacked, number: int, at: int, limit: int
) -> Iterator[Record | Rejection]:
    """A record for each line that is not blank; one that is too long is passed over in chunks."""
    # what a live log has gained since it was hashed is left for the next import
    while line := stream.readline(min(limit + 1, file.size - at)):
        record = file.record(f"line{number}", at + len(line.rstrip(b"\r\n")))
        at, number = at + len(line), number + 1

        if len(line) > limit and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(CHUNK)
                at += len(line)

            yield record.rejected("record_too_large", f"more than {limit} bytes")
        elif text := line.decode("utf-8", "surrogateescape").strip(SPACE):
            yield _only(text, record)

        file.read = at


def _document(stream: io.BufferedReader, whole: Record, limit: int) -> Record | Rejection:
    """The one value of a file."""
    read = stream.read(limit + 1)
    text = read.decode("utf-8", "surrogateescape")
    return _bounded(read, limit, whole) or _only(text.rstrip(SPACE), whole)


def _bounded(read: bytes, limit: int, whole: Record) -> Rejection | None:
    if len(read) > limit:
        return whole.rejected("record_too_large", f"one JSON value of more than {limit} bytes")

    return None


def _objects(stream: io.BufferedReader, file: Unpacked, limit: int) -> Iterator[Record | Rejection]:
    """The one value of a file, or its objects one after the other, as exporters that indent print
    them.
    """
    whole = file.record(WHOLE)
    read = stream.read(limit + 1)
    text = read.decode("utf-8", "surrogateescape")
    found, end = record_at(text, 0, whole)
    several = end is not None and text[end:].lstrip(SPACE).startswith("{")

    if several or (len(read) > limit and _goes_on(file)):
        with file.open() as again:
            _start(again)
            yield from _one_after_another(JsonWindow(again), file, limit)
    else:
        yield _bounded(read, limit, whole) or _alone(found, end, text.rstrip(SPACE), whole)


def _goes_on(file: Unpacked) -> bool:
    """Whether another object follows the first one, which is longer than a record may be."""
    with file.open() as stream:
        _start(stream)
        window = JsonWindow(stream)
        return window.pass_object() and window.sign() == "{"


def _one_after_another(
    window: JsonWindow, file: Unpacked, limit: int
) -> Iterator[Record | Rejection]:
    """Objects with nothing but white space between them; one that is too long is passed over, what
    is broken ends the file.
    """
    for index in count():
        if not window.sign():
            return

        found, end = window.element(file.record(f"object{index}"), limit)
        file.read = window.dropped + (window.at if end is None else end)

        yield found
        too_long = isinstance(found, Rejection) and found.reason == "record_too_large"
        if end is not None:
            window.at = end
        elif not (too_long and window.pass_object()):
            return


def _only(text: str, record: Record) -> Record | Rejection:
    """The record of a text that must hold nothing else."""
    return _alone(*record_at(text, 0, record), text, record)


def _alone(
    found: Record | Rejection, end: int | None, text: str, record: Record
) -> Record | Rejection:
    if isinstance(found, Record) and end != len(text):
        return record.rejected(why(text), f"text after the value at character {end}")

    return found


def _array(window: JsonWindow, file: Unpacked, limit: int) -> Iterator[Record | Rejection]:
    """The elements of an array, one at a time; where its text is broken, the file is refused."""
    whole = file.record(WHOLE)
    window.sign()

    if window.sign(skip=1) == "]":
        yield whole.rejected("empty", "an array without records")
        return

    for index in count():
        found, end = window.element(file.record(str(index)), limit)
        file.read = window.dropped + window.at

        # a list of messages is one chat, and no list of records: it is read again as a document
        if index == 0 and isinstance(found, Record) and is_object(found.value, role=str):
            with file.open() as again:
                _start(again)
                yield _document(again, whole, limit)

            return

        if end is None:
            place = f"in the array's element {index}, at character {file.read}"
            if isinstance(found, Rejection):
                yield whole.rejected(found.reason, f"{place}: {found.detail}")

            return

        yield found
        sign = window.sign(skip=end - window.at)
        wrong = "" if sign in (",", "]") else "neither , nor ]"
        if not wrong and window.sign(skip=1) and sign == "]":
            wrong = "text after the array"

        if wrong:
            place = f"at character {window.dropped + window.at}"
            yield whole.rejected(why(window.text[window.at :]), f"{wrong} {place}")

        if wrong or sign == "]":
            return
