"""A domain's database as rows: shared by all episodes until one takes a row out, and as facts."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from synth.schemas import Scalar, canonical_json


class CopiedRows(dict[str, Any]):
    """Rows by key, each copied when it is first taken out by its key: what a tool changes, it has
    taken out. Those that are only looked through stay shared.
    """

    def __init__(self, shared: Mapping[str, Any]) -> None:
        super().__init__(shared)
        self.shared = shared

    def __getitem__(self, key: str) -> Any:
        row = super().__getitem__(key)
        if row is self.shared.get(key):
            row = deepcopy(row)
            self[key] = row
        return row

    def get(self, key: str, default: Any = None) -> Any:
        """A row of its own, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def changed(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """(key, columns before, columns now) of each row that is another one now."""
        for key, row in self.items():
            before = self.shared.get(key)
            if row is not before and row != before:
                yield key, {} if before is None else _columns(before), _columns(row)


def changes(database: Any) -> Iterator[tuple[str, Scalar]]:
    """What differs from the beginning, as facts: a column that came, went or has another value."""
    for name in type(database).model_fields:
        for key, before, now in getattr(database, name).changed():
            for column in sorted(before.keys() | now.keys()):
                if before.get(column) != now.get(column) or (column in now) != (column in before):
                    yield _path(_table(name), key, column), _scalar(now.get(column))


def listed(database: Any) -> Iterator[tuple[str, Scalar]]:
    """All rows of a database whose tables are lists, as facts."""
    for name in type(database).model_fields:
        for row in getattr(database, name):
            key = getattr(row, f"{_table(name)}_id")
            for column, value in _columns(row).items():
                yield _path(_table(name), key, column), _scalar(value)


def single(table: str, row: Any) -> Iterator[tuple[str, Scalar]]:
    """The one row of a table, as facts."""
    for column, value in _columns(row).items():
        yield _path(table, "now", column), _scalar(value)


def _columns(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = row.model_dump(mode="json")
    return found


def _table(name: str) -> str:
    return name.removesuffix("s")


def _path(table: str, key: str, column: str) -> str:
    return f"{table}/{key.replace('/', '~')}/{column}"


def _scalar(value: Any) -> Scalar:
    """What is no scalar as its JSON: a list of payments is one value of its row."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return canonical_json(value).decode()
