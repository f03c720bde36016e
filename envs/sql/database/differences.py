"""Rows that differ between two states of a database, and the check that asks for one of them."""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import msgspec

from synth.envs.sql.database.sqlite import segment
from synth.schemas.check import Check, Facts, RowPredicate, Scalar

ANSWERED = ("answer/*/*",)
"""Facts of the answer: free in a task that asks for none."""


class RowDifference(msgspec.Struct, frozen=True):
    """A row that differs: its columns that are new or other, None for a row that is gone."""

    table: str
    key: int
    columns: Mapping[str, Scalar] | None
    is_new: bool = False


def rows_of(facts: Facts) -> dict[tuple[str, int], dict[str, Scalar]]:
    """Facts as rows: (table, key) -> column -> value, in the order in which facts stand."""
    found: dict[tuple[str, int], dict[str, Scalar]] = {}

    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        found.setdefault((unquote(table), int(key)), {})[unquote(column)] = value

    return found


def differences(start: Facts, end: Facts) -> Iterator[RowDifference]:
    """The rows that differ, by table and key."""
    before, after = rows_of(start), rows_of(end)

    for table, key in sorted(before.keys() | after.keys()):
        was, now = before.get((table, key)), after.get((table, key))
        if now is None:
            yield RowDifference(table, key, None)
        elif was is None:
            yield RowDifference(table, key, now, is_new=True)
        elif was != now:
            other = {name: now[name] for name in now if name not in was or was[name] != now[name]}
            yield RowDifference(table, key, other)


def check_of(start: Facts, end: Facts) -> Check | None:
    """What must hold at an end: rows that differ are required, those that are gone stay away.

    An answer is free. None where nothing differs.
    """
    required, free = [], list(ANSWERED)

    for row in differences(start, end):
        table, key = segment(row.table), str(row.key)
        if row.columns is None:
            required.append(RowPredicate(table, {"id": key}, count=0))
            free.append(f"{table}/{key}/*")
        else:
            values = {segment(name): value for name, value in row.columns.items()}
            required.append(RowPredicate(table, {"id": key, **values}))

    return Check(required=tuple(required), free=tuple(free)) if required else None
