"""JSON text that the `datasets` library reads back as the value that was written.

Its `Json()` feature decodes with pandas' ujson, which reads 0.3 as 0.30000000000000004, fails on
integers beyond 64 bits, and so would
put other numbers into the training text than the model wrote. 0.3000000 is the same number and is
read exactly.
"""

import json
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

_MAX_ZEROS = 17
_UNREADABLE = object()


def exact_json(value: Any) -> str | None:
    """JSON text of a value that ujson reads back as the same value, or None where there is none."""
    text = msgspec.json.encode(value).decode()
    if _loads(text) == value:
        return text
    try:
        padded = _padded(value)
    except RecursionError:
        return None
    return padded if _loads(padded) == value else None


def _loads(text: str) -> Any:
    try:
        return _ujson().ujson_loads(text)
    except (ValueError, RecursionError, OverflowError):
        return _UNREADABLE


@cache
def _ujson() -> Any:
    return import_module("pandas.io.json")  # 0.4 s, and untyped


def _padded(value: Any) -> str:
    """JSON text with zeros behind those decimals that ujson reads inexactly without."""
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(
                f"{json.dumps(key, ensure_ascii=False)}:{_padded(item)}"
                for key, item in value.items()
            )
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ",".join(_padded(item) for item in value) + "]"
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "." in text and "e" not in text:
        for zeros in range(_MAX_ZEROS):
            if _loads(text + "0" * zeros) == value:
                return text + "0" * zeros
    return text
