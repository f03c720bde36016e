"""What a database consists of: tables, columns, what they are called in words, and its rows."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from functools import cached_property
from typing import Any

import msgspec

from synth.schemas import Scalar

Row = tuple[Scalar, ...]
Rows = Mapping[str, Sequence[Row]]
"""By table, each row in the order of the table's columns, the key first."""
_TYPES = {"number": "INTEGER", "ref": "INTEGER", "money": "DOUBLE"}


class ColumnSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A column: `name` in the database, `phrase` in words.

    `kind` is one of those of data/domains.yaml; `text` in a user's own database stands for words
    that are no choice. `of` are the words of a choice, or the table that a `ref` refers to.
    """

    name: str
    phrase: str
    kind: str
    of: tuple[str, ...] = ()
    nulls: float = 0.0

    @property
    def type(self) -> str:
        """The type that SQL declares."""
        return _TYPES.get(self.kind, "TEXT")

    @property
    def numeric(self) -> bool:
        """Whether sums and averages of it mean something."""
        return self.kind in ("number", "money")


KEY = ColumnSpec(name="id", phrase="id", kind="key")


class TableSpec(msgspec.Struct, frozen=True):
    """A table; `many` are its rows in words, `columns` stand without the key."""

    name: str
    many: str
    columns: tuple[ColumnSpec, ...]
    key: str = "id"

    def column(self, name: str) -> ColumnSpec:
        """A column by its name, the key included."""
        if name == self.key:
            return KEY

        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, the key first."""
        return (self.key, *(column.name for column in self.columns))


class Database(msgspec.Struct, frozen=True, dict=True):
    """A schema with rows."""

    tables: tuple[TableSpec, ...]
    rows: Rows

    def table(self, name: str) -> TableSpec:
        """A table by its name."""
        return next(table for table in self.tables if table.name == name)

    def target(self, table: TableSpec, column: str) -> TableSpec | None:
        """The table that a column refers to; None for a column that holds values."""
        found = table.column(column)
        return self.table(found.of[0]) if found.kind == "ref" else None

    def children(self, table: TableSpec) -> Iterator[tuple[TableSpec, str]]:
        """Tables that refer to this one, with the column that does."""
        for one in self.tables:
            for column in one.columns:
                if column.kind == "ref" and column.of[0] == table.name:
                    yield one, column.name

    @property
    def ddl(self) -> str:
        """The statements that make the tables; comments say in words what a column holds."""
        return "\n\n".join(map(_create, self.tables))

    def inserts(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """(statement with a mark for each column, rows) by table."""
        for table in self.tables:
            marks = ", ".join("?" * len(table.names))
            yield f"INSERT INTO {quoted(table.name)} VALUES ({marks})", self.rows[table.name]

    @cached_property
    def image(self) -> bytes:
        """The database as SQLite keeps it."""
        with closing(sqlite3.connect(":memory:")) as made:
            made.executescript(self.ddl)
            for statement, rows in self.inserts():
                made.executemany(statement, rows)

            made.commit()

            return made.serialize()


def _create(table: TableSpec) -> str:
    """The statement that makes a table."""
    lines = [f'  "{table.key}" INTEGER PRIMARY KEY,']
    for column in table.columns:
        more = "" if column.nulls else " NOT NULL"
        more += f' REFERENCES "{column.of[0]}"' if column.kind == "ref" else ""
        comma = "" if column is table.columns[-1] else ","
        lines.append(f'  "{column.name}" {column.type}{more}{comma}  -- {column.phrase}')

    return f'CREATE TABLE "{table.name}" (  -- {table.many}\n' + "\n".join(lines) + "\n);"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def is_day(text: Any) -> bool:
    """Whether a value is a date as SQL writes it."""
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
