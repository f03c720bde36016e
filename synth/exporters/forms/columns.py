"""Columns as data: a name, a kind of value, and how a row gives the value.

A kind is one of Arrow's names ("string", "bool", "int32", "float64"), "json", a list `[kind]` or a
struct `{name: kind}`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from synth.exporters.json_columns import plain_text, said, text

if TYPE_CHECKING:
    import pyarrow as pa


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
