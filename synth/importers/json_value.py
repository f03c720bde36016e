"""JSON text -> a value and the hash of its canonical form; duplicate keys, NaN and broken text are
told apart.
"""

import json
import re
from hashlib import blake2b
from typing import Any

import msgspec

from synth.importers.records import Record, Rejection
from synth.schemas.canonical import canonical_json, valid_text

_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|003[aA])", re.ASCII)
"""Of a surrogate, which may stand alone, or of a colon (see `_same_keys`)."""


class _RefusedError(ValueError):
    """NaN or a key that stands twice."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def _constant(name: str) -> Any:
    raise _RefusedError("not_json", f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise _RefusedError(
            "duplicate_keys",
            f"key {next(n for n in names if names.count(n) > 1)!r} stands twice in one object",
        )
    return value


_LENIENT = json.JSONDecoder()
_FAST = json.JSONDecoder(parse_constant=_constant)
_STRICT = json.JSONDecoder(parse_constant=_constant, object_pairs_hook=_object)


def end_of_value(text: str, start: int) -> tuple[Any, int]:
    """The value at `start` as it stands, with the place after it. Raises `ValueError`,
    `RecursionError`.
    """
    return _LENIENT.raw_decode(text, start)


def record_at(text: str, start: int, record: Record) -> tuple[Record | Rejection, int | None]:
    """The record at `start` with the place after it; no place where its end cannot be found."""
    try:
        value, end = _FAST.raw_decode(text, start)
        if not text.isascii() and not encodable(text[start:end]):
            return record.rejected("not_utf8", "bytes that are no UTF-8"), end
        escaped = _ESCAPE.search(text, start, end) is not None
        valid = _valid(value) if escaped else value
        replaced = escaped and valid != value
        canonical = canonical_json(valid)
        if escaped or not _same_keys(text, start, end, canonical):
            _STRICT.raw_decode(text, start)
    except _RefusedError as error:
        return record.rejected(error.reason, str(error)), _end(text, start)
    except RecursionError:
        return record.rejected("nested_too_deep"), _end(text, start)
    except MemoryError:
        return record.rejected("out_of_memory", "too large for this machine's memory"), None
    except (msgspec.MsgspecError, OverflowError, UnicodeEncodeError, TypeError) as error:
        return record.rejected("not_storable", str(error)), _end(text, start)
    except ValueError as error:
        return record.rejected(why(text[start:]), str(error)), None
    content = blake2b(canonical, digest_size=12).hexdigest()
    return Record(record.file, record.sha, record.locator, valid, content, replaced), end


def _same_keys(text: str, start: int, end: int, canonical: bytes) -> bool:
    """Whether no key was lost to a later one of its name: then there are as many colons as in the
    canonical text.

    A colon stands after every key and in strings, where both texts have the same ones unless it was
    escaped. This is many times faster than a look at every object.
    """
    return text.count(":", start, end) == canonical.count(b":")


def _end(text: str, start: int) -> int | None:
    """Where a refused value ends, None where that cannot be told."""
    try:
        return end_of_value(text, start)[1]
    except (ValueError, RecursionError, MemoryError):
        return None


def why(text: str) -> str:
    """The reason for text that is no JSON: `not_utf8` where that is why."""
    return "not_json" if encodable(text) else "not_utf8"


def encodable(text: str) -> bool:
    """Whether text decoded with `surrogateescape` was UTF-8."""
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
