"""Bytes -> JSON values: one document, an array of records, or one record per line; told apart by content."""

import json
import re
from collections.abc import Iterator
from typing import Any

from schemas.canonical import valid_text
from synth.importers.records import Record, Rejection

MAX_RECORD_CHARS = 256 << 20
"""Of JSON text: parsed objects take about ten times as much memory."""
_LINES_TRIED = 20
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89abAB]", re.ASCII)


class _Reader:
    """A JSON decoder that goes on over duplicate keys and NaN, and remembers that it met them."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            names = [name for name, _ in pairs]
            self.problems.append(("duplicate_keys", f"key {next(n for n in names if names.count(n) > 1)!r} stands twice in one object"))
        return value

    def _constant(self, name: str) -> None:
        self.problems.append(("not_json", f"{name} is no JSON number"))

    def read(self, text: str, start: int, record: Record, *, max_chars: int) -> tuple[Record | Rejection, int | None]:
        """The value at `start` with the place after it; no place where its end cannot be found."""
        self.problems.clear()
        try:
            value, end = self._decoder.raw_decode(text, start)
        except RecursionError:
            return record.rejected("nested_too_deep"), None
        except ValueError as error:
            return record.rejected(_why(text[start:]), str(error)), None
        if end - start > max_chars:
            return record.rejected("record_too_large", f"{end - start} characters"), end
        if not text.isascii() and not _encodable(text[start:end]):
            return record.rejected("not_utf8", "bytes that are no UTF-8"), end
        if self.problems:
            return record.rejected(*self.problems[0]), end
        if _SURROGATE_ESCAPE.search(text, start, end):
            value = _valid(value)
        return Record(record.file, record.sha, record.locator, value), end


def records(blob: bytes, file: str, sha: str, *, max_record_chars: int = MAX_RECORD_CHARS) -> Iterator[Record | Rejection]:
    """Every record of a file, or why it is none. A broken record does not take the others of its file with it."""
    # bytes that are no UTF-8 travel as surrogates, so that only the records in which they stand are refused
    text = blob.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    start = _skip(text, 0)
    if start == len(text):
        yield Rejection(file, "file", "empty")
    elif _is_lines(text):
        yield from _lines(text, file, sha, max_record_chars)
    else:
        yield from _document(text, start, file, sha, max_record_chars)


def _is_lines(text: str) -> bool:
    """Whether this is one record per line: of the first lines, one that opens at the margin is a whole JSON value."""
    lines: list[str] = []
    at = 0
    while at < len(text) and len(lines) < _LINES_TRIED:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if line := text[at:end].rstrip():
            lines.append(line)
        at = end + 1
    if len(lines) < 2 or lines[0] in ("{", "[") or not lines[0].startswith(("{", "[")):
        return False
    return any(line.startswith(("{", "[")) and _parses(line) for line in lines)


def _parses(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(text: str, file: str, sha: str, max_chars: int) -> Iterator[Record | Rejection]:
    reader = _Reader()
    at, number = 0, 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        number += 1
        record = Record(file, sha, f"line{number}", None)
        if end - at > max_chars:
            yield record.rejected("record_too_large", f"{end - at} characters")
        elif line := text[at:end].strip(" \t\r"):
            found, after = reader.read(line, 0, record, max_chars=max_chars)
            if after is not None and after < len(line) and isinstance(found, Record):
                found = record.rejected("not_json", f"text after the value at character {after}")
            yield found
        at = end + 1


def _document(text: str, start: int, file: str, sha: str, max_chars: int) -> Iterator[Record | Rejection]:
    reader = _Reader()
    whole = Record(file, sha, "file", None)
    if text[start] == "[" and not _is_messages(text, start):
        yield from _array(text, start, file, sha, max_chars, reader)
        return
    found, end = reader.read(text, start, whole, max_chars=max_chars)
    if end is not None and _skip(text, end) < len(text) and isinstance(found, Record):
        found = whole.rejected(_why(text), f"text after the value at character {end}")
    yield found


def _array(text: str, start: int, file: str, sha: str, max_chars: int, reader: _Reader) -> Iterator[Record | Rejection]:
    """The elements of an array, one at a time; those before a damaged place come in."""
    at, index = _skip(text, start + 1), 0
    if text.startswith("]", at):
        yield Rejection(file, "file", "empty", "an array without records")
        at += 1
    else:
        while True:
            found, end = reader.read(text, at, Record(file, sha, str(index), None), max_chars=max_chars)
            yield found
            if end is None:
                return
            at, index = _skip(text, end), index + 1
            if text.startswith("]", at):
                at += 1
                break
            if not text.startswith(",", at):
                yield Rejection(file, str(index), _why(text[at:]), f"neither , nor ] at character {at}")
                return
            at = _skip(text, at + 1)
    if _skip(text, at) < len(text):
        yield Rejection(file, "file", _why(text[at:]), f"text after the array at character {at}")


def _is_messages(text: str, start: int) -> bool:
    """Whether an array is one bare list of chat messages, and not a list of records: its first element has a role."""
    try:
        first, _ = json.JSONDecoder().raw_decode(text, _skip(text, start + 1))
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and isinstance(first.get("role"), str)


def _skip(text: str, at: int) -> int:
    """The place of the next character that is no JSON white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _why(text: str) -> str:
    return "not_json" if _encodable(text) else "not_utf8"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _valid(value: Any) -> Any:
    """The value with lone surrogates replaced in every text and key."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, list):
        return [_valid(item) for item in value]
    if isinstance(value, dict):
        return {valid_text(key): _valid(item) for key, item in value.items()}
    return value
