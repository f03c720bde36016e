"""Visits the texts that stand in a struct and in those within it, by a table of their fields."""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, NamedTuple, TypeVar

import msgspec

from synth.schemas.errors import RowError
from synth.schemas.trajectory import ToolCall, argument_error

Struct = TypeVar("Struct", bound=msgspec.Struct)
Change = Callable[[str, str], str]
"""(place, text) -> what shall stand there."""


class TextField(NamedTuple):
    """A field of a struct, what its place is called, and a reader where it is visited as JSON."""

    field: str
    place: str = ""
    read: Callable[[bytes], Any] | None = None


Table = Mapping[type, Sequence[TextField]]


def visited(struct: Struct, table: Table, change: Change, at: str = "") -> Struct:
    """The struct with every text changed that is not empty; the same object where none was.

    Raises `RowError` where a changed JSON text is no value of its type.
    """
    changed = {}
    for field, name, read in table[type(struct)]:
        value = getattr(struct, field)
        place = ".".join(filter(None, (at, name)))
        if value and (new := _of(value, table, change, place, read)) is not value:
            changed[field] = new
    found = msgspec.structs.replace(struct, **changed) if changed else struct
    if isinstance(found, ToolCall) and "arguments" in changed:
        wrong = argument_error(found.arguments)
        return msgspec.structs.replace(found, parse_error=wrong)
    return found


def _of(
    value: Any, table: Table, change: Change, place: str, read: Callable[[bytes], Any] | None = None
) -> Any:
    if read is not None:
        return in_json(place, value, change, read)
    if isinstance(value, str):
        return change(place, value) if value else value
    if isinstance(value, tuple):
        found = tuple(_of(one, table, change, f"{place}.{n}") for n, one in enumerate(value))
        return value if all(map(is_, found, value)) else found
    return visited(value, table, change, place)


def in_json(place: str, value: Any, change: Change, read: Callable[[bytes], Any]) -> Any:
    """A value, changed as its JSON text. Raises `RowError` where that is no value of its type."""
    text = msgspec.json.encode(value).decode()
    changed = change(place, text)
    if changed == text:
        return value
    try:
        return read(changed.encode())
    except msgspec.MsgspecError as error:
        raise RowError(
            "unlawful_redaction",
            f"what is taken out of {place} leaves no value of its type: {error}",
            place,
        ) from error
