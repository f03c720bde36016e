"""Columns as data: a name, a kind of value, and how a row gives the value.

A kind is one of Arrow's names ("string", "bool", "int32", "float64"), "json", a list `[kind]` or a
struct `{name: kind}`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


import json
from functools import cache
from importlib import import_module

import msgspec

from synth.schemas.model import Message

_MAX_ZEROS = 17
_UNREADABLE = object()


def text(value: Any) -> str:
    """JSON text of a value, exact wherever any text is."""
    found = exact_json(value)
    return plain_text(value) if found is None else found


def plain_text(value: Any) -> str:
    """JSON text that consumers decode themselves."""
    return msgspec.json.encode(value).decode()


def said(message: Message) -> Message:
    """A message that says nothing beside its calls says "": of null, some chat templates make the
    word None, or an error.
    """
    return message | {"content": ""} if message["content"] is None else message


def holds_exactly(value: Any) -> bool:
    """Whether `datasets` gives it back unchanged."""
    return exact_json(value) is not None


def exact_json(value: Any) -> str | None:
    """JSON text of a value that ujson reads back as the same value, or None where there is none."""
    plain = plain_text(value)
    if _loads(plain) == value:
        return plain
    try:
        padded = _padded(value)
    except RecursionError:
        return None
    return padded if _loads(padded) == value else None


def _loads(written: str) -> Any:
    try:
        return _ujson().ujson_loads(written)
    except (ValueError, RecursionError, OverflowError):
        return _UNREADABLE


@cache
def _ujson() -> Any:
    return import_module("pandas.io.json")  # 0.4 s, and untyped


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


class Column(NamedTuple):
    """A column of a form; `value` makes what stands in it of a row."""

    name: str
    kind: Any
    value: Callable[[Any], Any]


def taken(kind: Any, source: str, *names: str) -> tuple[Column, ...]:
    """Columns that hold the attributes of their names; `source` is the path to their owner in a
    row, "" for the row itself.
    """
    path = f"{source}." if source else ""
    return tuple(Column(name, kind, attrgetter(path + name)) for name in names)


def as_text(source: str, *names: str) -> tuple[Column, ...]:
    """The same, as JSON text."""

    def written(value: Callable[[Any], Any], row: Any) -> str:
        return plain_text(value(row))

    found = taken("string", source, *names)
    return tuple(Column(name, kind, partial(written, value)) for name, kind, value in found)


def messages(name: str, of: Callable[[Any], Any]) -> Column:
    """Messages as JSON that `datasets` decodes."""
    return Column(name, ["json"], lambda row: [text(said(message)) for message in of(row)])


def schema(columns: tuple[Column, ...]) -> "pa.Schema":
    """The arrow schema; JSON columns need the features that `datasets` looks for in the metadata
    of a file.
    """
    import pyarrow as pa

    if all(column.kind != ["json"] for column in columns):
        return pa.schema([(column.name, _arrow(column.kind)) for column in columns])
    from datasets import Features

    found: pa.Schema = Features(
        {column.name: _feature(column.kind) for column in columns}
    ).arrow_schema
    return found


def _arrow(kind: Any) -> "pa.DataType":
    import pyarrow as pa

    match kind:
        case [inner]:
            return pa.list_(_arrow(inner))
        case Mapping():
            return pa.struct([(name, _arrow(inner)) for name, inner in kind.items()])
    return pa.type_for_alias(kind)


def _feature(kind: Any) -> Any:
    from datasets import Json, List, Value

    match kind:
        case [inner]:
            return List(_feature(inner))
        case Mapping():
            return {name: _feature(inner) for name, inner in kind.items()}
    return Json() if kind == "json" else Value(kind)
