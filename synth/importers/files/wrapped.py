"""Documents that hold records: under one key (`{"data": [...]}`), or each under its name."""

from collections.abc import Iterable, Iterator
from typing import Any

from synth.importers.records import Record, Rejection
from synth.importers.registry import format_of

_SIDES = frozenset(
    ["prompt", "completion", "response", "request", "input", "output", "chosen", "rejected"]
)
"""Keys of a record's parts, which are no records of their own."""


def wrapped_format(record: Record) -> str | None:
    """The format of the first record that a document holds; None where it holds none that is
    known.
    """
    first = next(_inside(record), None)
    return None if first is None else format_of(first.value)


def unwrapped(records: Iterable[Record | Rejection]) -> Iterator[Record | Rejection]:
    """The records inside of each; one that holds none is handed on as it is."""
    for record in records:
        found = [record] if isinstance(record, Rejection) else list(_inside(record))
        yield from found or [record]


def _inside(record: Record) -> Iterator[Record]:
    value = record.value
    if not isinstance(value, dict):
        return
    for key, held in value.items():
        rows = [_row(one) for one in held] if isinstance(held, list) else []
        if rows and isinstance(rows[0], dict | list) and format_of(rows[0]) is not None:
            yield from record.parts(str(key), rows)
            return

    held = list(value.values())
    if (
        _SIDES.isdisjoint(value)
        and held
        and all(isinstance(one, dict | list) for one in held)
        and format_of(held[0])
    ):
        for key, one in value.items():
            # its key is what the record is called, unless it says so itself
            yield record.part(str(key), {"id": key} | one if isinstance(one, dict) else one)


def _row(value: Any) -> Any:
    """A row without the envelope of the Hub's viewer."""
    inner = value.get("row") if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else value
