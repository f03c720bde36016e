"""Databases from an SQLite file of the user's, which is read and never written."""

import sqlite3
from collections.abc import Sequence, Set
from contextlib import closing
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from synth.envs.sql.database.schema import (
    ColumnSpec,
    Database,
    Row,
    Rows,
    TableSpec,
    is_day,
    quoted,
)
from synth.schemas import ConfigError, Scalar

_LARGEST_FILE = 64 << 20
_MOST_ROWS = 200_000
_CHOICES = 12
"""Different words up to which a column's are a choice."""
_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)


class FromFile:
    """A user's own database; the second one has its values dealt anew (`shuffled`)."""

    def __init__(self, path: Path) -> None:
        try:
            size = path.stat().st_size
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error

        if size > _LARGEST_FILE:
            raise ConfigError(f"{path}: {size >> 20} MiB; a database of at most 64 MiB is taken")

        self.digest: str | None = sha256(path.read_bytes()).hexdigest()
        self._path = path
        self._others: dict[int, Database] = {}

    @cached_property
    def _read(self) -> Database:
        return read_database(self._path)

    def database(self, seed: int, other: int = 0) -> Database:
        """The file's; with a number, one with its values dealt anew."""
        if other == 0:
            return self._read

        if other not in self._others:
            self._others[other] = shuffled(self._read, other)

        return self._others[other]


def shuffled(database: Database, seed: int) -> Database:
    """Other rows for a database whose rows nobody can make.

    About four of five stay, each column's values dealt anew among them. Rows that others refer to
    all stay.
    """
    columns = (column for table in database.tables for column in table.columns)
    referred = {column.of[0] for column in columns if column.kind == "ref"}
    found: dict[str, list[Row]] = {}

    for table in database.tables:
        draw, rows = Random(f"sql shuffled {seed} {table.name}"), database.rows[table.name]
        kept = [row for row in rows if table.name in referred or draw.random() < 0.8]
        dealt = [[row[place] for row in kept] for place in range(len(table.names))]
        for values in dealt[1:]:
            draw.shuffle(values)

        found[table.name] = list(zip(*dealt, strict=True))

    return Database(database.tables, found)


def read_database(path: Path) -> Database:
    """The tables of an SQLite file that have a whole number as key, with their rows.

    Raises `ConfigError`.
    """
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"

    try:
        with closing(sqlite3.connect(uri, uri=True)) as opened:
            return _File(opened, path).database()
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: is no SQLite database that can be read: {error}") from error


class _File:
    """An opened file; column descriptions are rows of `PRAGMA table_info`."""

    def __init__(self, opened: sqlite3.Connection, path: Path) -> None:
        self._opened, self._path = opened, path
        self._keys: dict[str, str] = {}

    def database(self) -> Database:
        """All tables with a key. Raises `ConfigError`."""
        for (name,) in self._opened.execute(_TABLES).fetchall():
            keys = [column for column in self._pragma("table_info", name) if column[5]]
            if len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER":
                self._keys[name] = keys[0][1]

        if not self._keys:
            raise ConfigError(
                f"{self._path}: no table has an INTEGER PRIMARY KEY, by which rows are told"
            )

        read = [self._table(name, key) for name, key in self._keys.items()]
        rows: Rows = {table.name: found for table, found in read}

        return Database(tuple(table for table, _ in read), rows)

    def _pragma(self, about: str, table: str) -> list[Any]:
        """What SQLite tells about a table."""
        return self._opened.execute(f"PRAGMA {about}({quoted(table)})").fetchall()

    def _table(self, name: str, key: str) -> tuple[TableSpec, list[Row]]:
        """A table with its rows. Raises `ConfigError` where these are too many."""
        told = [column for column in self._pragma("table_info", name) if column[1] != key]
        names = ", ".join(map(quoted, (key, *(column[1] for column in told))))
        limited = f"SELECT {names} FROM {quoted(name)} LIMIT {_MOST_ROWS + 1}"
        rows = self._opened.execute(limited).fetchall()
        if len(rows) > _MOST_ROWS:
            raise ConfigError(f"{self._path}: table {name} has more than {_MOST_ROWS} rows")

        links = {link[3]: link[2] for link in self._pragma("foreign_key_list", name)}
        columns = []

        for place, column in enumerate(told, 1):
            target = links.get(column[1])
            values = [row[place] for row in rows]
            refers = target if target in self._keys else None
            columns.append(self._column(column, values, refers))

        return TableSpec(name, _phrase(name), tuple(columns), key), rows

    def _column(self, told: Any, values: Sequence[Scalar], refers: str | None) -> ColumnSpec:
        """A column, its kind by its type and its values."""
        name, there = str(told[1]), [value for value in values if value is not None]
        if any(isinstance(value, bytes) for value in there):
            raise ConfigError(f"{self._path}: column {name} holds bytes; leave it out of the file")

        words = {value for value in there if isinstance(value, str)}
        kind = "ref" if refers is not None else _kind(there, words)
        choice = tuple(sorted(words))[:_CHOICES] if kind == "text" else ()
        # a column that may be empty and never is counts as one that seldom is
        nulls = 1 - len(there) / max(len(values), 1) or float(not told[3]) / 99

        return ColumnSpec(
            name=name,
            phrase=_phrase(name),
            kind=kind,
            of=choice if refers is None else (refers,),
            nulls=nulls,
        )


def _kind(values: Sequence[Scalar], words: Set[str]) -> str:
    """The kind of a column that refers to no table, by what it holds."""
    if values and all(isinstance(value, int) for value in values):
        return "number"

    if values and not words:
        return "money"

    if words and all(map(is_day, values)):
        return "date"

    return "label" if len(words) > _CHOICES else "text"


def _phrase(name: str) -> str:
    """A name of the file in words."""
    return name.replace("_", " ").lower()
