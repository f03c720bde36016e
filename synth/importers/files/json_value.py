"""JSON text -> a value and the hash of its canonical form; duplicate keys, NaN and broken text are
told apart.
"""

import json
from hashlib import blake2b
from typing import Any

from synth.importers.records import Record, Rejection
from synth.schemas.canonical import canonical_json, valid_text

NEVER_WHOLE = ("nested_too_deep", "out_of_memory")
"""Reasons that more text would not change."""


class _RefusedError(ValueError):
    """A key that stands twice, or NaN."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def _constant(name: str) -> Any:
    raise _RefusedError("not_json", f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError("duplicate_keys", f"key {twice!r} stands twice in one object")

    return value


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
    try:
        value, end = _STRICT.raw_decode(text, start)
        if not text.isascii() and why(text[start:end]) == "not_utf8":
            return record.rejected("not_utf8", "bytes that are no UTF-8"), end

        valid = value

        try:
            canonical = canonical_json(value)
        except UnicodeEncodeError:  # of a lone surrogate, which JSON may hold and UTF-8 may not
            valid = _valid(value)
            canonical = canonical_json(valid)

        content = blake2b(canonical, digest_size=12).hexdigest()
        replaced = valid is not value
        return Record(record.file, record.sha, record.locator, valid, content, replaced), end
    except _RefusedError as error:
        reason, detail = error.reason, str(error)
    except RecursionError:
        reason, detail = "nested_too_deep", ""
    except MemoryError:
        reason, detail = "out_of_memory", "too large for this machine's memory"
    except ValueError as error:
        reason, detail = why(text[start:]), str(error)

    return record.rejected(reason, detail), value_at(text, start)[1]


def why(text: str) -> str:
    """The reason for text, decoded with `surrogateescape`, that is no JSON."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "not_utf8"

    return "not_json"


def _valid(value: Any) -> Any:
    """The value with lone surrogates replaced in every text and key."""
    if isinstance(value, str):
        return valid_text(value)

    if isinstance(value, list):
        return [_valid(item) for item in value]

    if isinstance(value, dict):
        return {valid_text(key): _valid(item) for key, item in value.items()}
    return value
