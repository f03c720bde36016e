"""JSON text that `datasets` gives back as the value that it was written from."""

import json
from importlib import import_module
from typing import Any

import msgspec

_MAX_ZEROS = 17
_UNREADABLE = object()


def plain_text(value: Any) -> str:
    """JSON text that consumers decode themselves."""
    return msgspec.json.encode(value).decode()


def text(value: Any) -> str:
    """JSON text of a value, exact wherever any text is."""
    found = exact_json(value)
    return plain_text(value) if found is None else found


def holds_exactly(value: Any) -> bool:
    """Whether `datasets` gives it back unchanged."""
    return exact_json(value) is not None


def exact_json(value: Any) -> str | None:
    """JSON text of a value that ujson reads back as the same value, or None where there is none."""
    plain = plain_text(value)
    if _loads(plain) == value:
        return plain

    # zeros behind a decimal change how it is read, not what it is
    try:
        padded = _padded(value)
    except RecursionError:
        return None

    return padded if _loads(padded) == value else None


def _loads(written: str) -> Any:
    try:
        return import_module("pandas.io.json").ujson_loads(written)  # 0.4 s, and untyped
    except (ValueError, RecursionError, OverflowError):
        return _UNREADABLE


def _padded(value: Any) -> str:
    """JSON text with zeros behind those decimals that ujson reads inexactly without."""
    if isinstance(value, dict):
        items = (f"{_padded(key)}:{_padded(item)}" for key, item in value.items())

        return "{" + ",".join(items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_padded, value)) + "]"

    written = json.dumps(value, ensure_ascii=False)

    if isinstance(value, float) and "." in written and "e" not in written:
        for zeros in range(_MAX_ZEROS):
            if _loads(written + "0" * zeros) == value:
                return written + "0" * zeros

    return written
