"""JSON text -> a value and the hash of its canonical form; duplicate keys, NaN and broken text are
told apart.
"""

import json
from typing import Any

from synth.importers.records import Object, Record, Rejection
from synth.schemas import content_hash, valid_text

NEVER_WHOLE = ("nested_too_deep", "out_of_memory")
"""Reasons that more text would not change."""


class _TwiceError(ValueError):
    """A key stands twice in one object: which value was meant cannot be told."""


def _object(pairs: list[tuple[str, Any]]) -> Object:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"key {twice!r} stands twice in one object")

    return value


def _constant(name: str) -> Any:
    # NaN and Infinity, which Python's decoder takes by itself
    raise ValueError(f"{name} is no JSON number")


# for a first look, and to find where a value that is refused ends
_LENIENT = json.JSONDecoder()
_STRICT = json.JSONDecoder(parse_constant=_constant, object_pairs_hook=_object)


def value_at(text: str, start: int = 0) -> tuple[Any, int | None]:
    """The value at `start` as it stands, with the place after it; no place where there is none."""
    try:
        return _LENIENT.raw_decode(text, start)
    except (ValueError, RecursionError, MemoryError):
        return None, None


def record_at(text: str, start: int, record: Record) -> tuple[Record | Rejection, int | None]:
    """The record at `start`, or why it is none, with the place after it; no place where that cannot
    be told.
    """
    replaced = False

    try:
        value, end = _STRICT.raw_decode(text, start)
        if not text.isascii() and why(text[start:end]) == "not_utf8":
            return record.rejected("not_utf8", "bytes that are no UTF-8"), end

        try:
            content = content_hash(value)
        except UnicodeEncodeError:  # of a lone surrogate, which JSON may hold and UTF-8 may not
            replaced = True
            value = json.loads(valid_text(json.dumps(value, ensure_ascii=False)))
            content = content_hash(value)

        return Record(record.file, record.sha, record.locator, value, content, replaced), end
    except _TwiceError as error:
        reason, detail = "duplicate_keys", str(error)
    except RecursionError:
        reason, detail = "nested_too_deep", ""
    except MemoryError:
        reason, detail = "out_of_memory", "too large for this machine's memory"
    except ValueError as error:
        reason, detail = "", str(error)

    _, end_of_refused = value_at(text, start)
    reason = reason or why(text[start:end_of_refused])
    return record.rejected(reason, detail), end_of_refused


def why(text: str) -> str:
    """The reason for text, decoded with `surrogateescape`, that is no JSON."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "not_utf8"

    return "not_json"
