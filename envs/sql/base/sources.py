"""Which databases there are: made by seed, or read from a file of the user's."""

import random
import sqlite3
from collections.abc import Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from synth.envs.sql.base.engines import Duck, Engine, Sqlite, image, quoted
from synth.envs.sql.base.schema import (
    ColumnSpec,
    Database,
    Row,
    TableSpec,
    domains,
    generated,
    is_day,
    shuffled,
)
from synth.schemas.check import Scalar
from synth.schemas.errors import ConfigError

_LARGEST_FILE = 64 << 20
_MOST_FILE_ROWS = 200_000
_CHOICES = 12


class SqlConfig(BaseModel):
    """`domain`: one of those of data/domains.yaml, by default another one from seed to seed.
    `tables`: the most that a database has. `kinds`: which tasks are made. `engine`: `duckdb` for
    questions alone. `digest` pins a user's file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: str | None = Field(default=None, max_length=40)
    tables: int = Field(default=8, ge=1, le=12)
    level: float = Field(default=0.5, ge=0, le=1)
    kinds: tuple[Literal["question", "change", "repair"], ...] = Field(
        default=("question", "change", "question", "repair"), min_length=1, max_length=12
    )
    engine: Literal["sqlite", "duckdb"] = "sqlite"
    digest: str | None = Field(default=None, max_length=100)
    explored_seed: int = Field(default=0, ge=-(2**63), lt=2**63)

    def pinned(self, source: "DatabaseSource") -> dict[str, Any]:
        """What of the settings determines where an episode begins."""
        found = self.model_dump(include={"domain", "tables", "engine"}, exclude_none=True)
        return {**found, **({"digest": source.digest} if source.digest else {})}


class DatabaseSource(Protocol):
    """Where databases come from; `digest` of the file, None where they are made."""

    digest: str | None

    def database(self, seed: int, other: int) -> Database: ...
    def image(self, seed: int, other: int, second: bool) -> bytes: ...


class Made:
    """Databases by seed."""

    digest: str | None = None

    def __init__(self, config: SqlConfig) -> None:
        if config.domain is not None and config.domain not in domains():
            raise ConfigError(f"sql has no domain {config.domain!r}; it has {', '.join(domains())}")
        self._config = config

    def database(self, seed: int, other: int) -> Database:
        """That of a seed, with a second one beside it."""
        domain = self._config.domain or random.Random(f"sql {seed}").choice(domains())
        return _generated(domain, self._config.tables, seed, other)

    def image(self, seed: int, other: int, second: bool) -> bytes:
        """As SQLite keeps it."""
        database = self.database(seed, other)
        domain = self._config.domain or random.Random(f"sql {seed}").choice(domains())
        key = (domain, self._config.tables, seed, other if second else 0)
        return _image(key, lambda: image(database, database.other if second else database.rows))


@lru_cache(maxsize=256)
def _generated(domain: str, tables: int, seed: int, other: int) -> Database:
    return generated(domain, tables, seed, other)


class _Kept(dict[Any, bytes]):
    """The images used last."""

    def __call__(self, key: Any, make: Any) -> bytes:
        if key not in self:
            while len(self) >= 256:
                del self[next(iter(self))]
            self[key] = make()
        return self[key]


_image = _Kept()


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
        self._images: dict[tuple[int, bool], bytes] = {}

    @cached_property
    def _read(self) -> Database:
        return read_database(self._path)

    def database(self, seed: int, other: int) -> Database:
        """The file's, with values dealt anew beside it."""
        tables, rows = self._read.tables, self._read.rows
        return Database(tables, rows, shuffled(tables, rows, other))

    def image(self, seed: int, other: int, second: bool) -> bytes:
        """As SQLite keeps it."""
        key = (other if second else 0, second)
        if key not in self._images:
            database = self.database(seed, other)
            self._images[key] = image(database, database.other if second else database.rows)
        return self._images[key]


def read_database(path: Path) -> Database:
    """The tables of an SQLite file that have a whole number as key, with their rows. Raises
    `ConfigError`.
    """
    try:
        opened = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return _read_tables(opened, path)
        finally:
            opened.close()
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: is no SQLite database that can be read: {error}") from error


def _read_tables(opened: sqlite3.Connection, path: Path) -> Database:
    names = [
        name
        for (name,) in opened.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
            "ORDER BY name"
        )
    ]
    keys: dict[str, str] = {}
    for name in names:
        own = [one for one in opened.execute(f"PRAGMA table_info({quoted(name)})") if one[5]]
        if len(own) == 1 and str(own[0][2]).upper() == "INTEGER":
            keys[name] = own[0][1]
    if not keys:
        raise ConfigError(f"{path}: no table has an INTEGER PRIMARY KEY, by which rows are told")
    tables: list[TableSpec] = []
    rows: dict[str, list[Row]] = {}
    for name, key in keys.items():
        found = list(opened.execute(f"PRAGMA table_info({quoted(name)})"))
        own = [one for one in found if one[1] != key]
        columns = ", ".join(map(quoted, (key, *(one[1] for one in own))))
        rows[name] = list(
            opened.execute(f"SELECT {columns} FROM {quoted(name)} LIMIT {_MOST_FILE_ROWS + 1}")
        )
        if len(rows[name]) > _MOST_FILE_ROWS:
            raise ConfigError(f"{path}: table {name} has more than {_MOST_FILE_ROWS} rows")
        links = {
            link[3]: link[2]
            for link in opened.execute(f"PRAGMA foreign_key_list({quoted(name)})")
            if link[2] in keys
        }
        made = tuple(
            _column(one, [row[place] for row in rows[name]], links.get(one[1]), path)
            for place, one in enumerate(own, 1)
        )
        many = name.replace("_", " ").lower()
        tables.append(TableSpec(name, many, many, made, len(rows[name]), key))
    return Database(tuple(tables), rows, rows)


def _column(told: Row, values: Sequence[Scalar], refers: str | None, path: Path) -> ColumnSpec:
    """A column of a user's, its kind by its type and its values."""
    name, there = str(told[1]), [value for value in values if value is not None]
    if any(isinstance(value, bytes) for value in there):
        raise ConfigError(f"{path}: column {name} holds bytes; leave it out of the file")
    words = {value for value in there if isinstance(value, str)}
    kind, of = "text", tuple(sorted(words))[:_CHOICES]
    if refers is not None:
        kind, of = "ref", (refers,)
    elif there and all(isinstance(value, int) for value in there):
        kind, of = "number", ()
    elif there and not words:
        kind, of = "money", ()
    elif words and all(map(is_day, there)):
        kind, of = "date", ()
    elif len(words) > _CHOICES:
        kind, of = "label", ()
    nulls = 1 - len(there) / max(len(values), 1)
    phrase = name.replace("_", " ").lower()
    return ColumnSpec(
        name=name, phrase=phrase, kind=kind, of=of, nulls=nulls or float(not told[3]) / 99
    )


def engine_of(
    config: SqlConfig, source: DatabaseSource, seed: int, other: int, *, second: bool
) -> Engine:
    """A database to read."""
    if config.engine == "sqlite":
        return Sqlite(source.image(seed, other, second))
    database = source.database(seed, other)
    return Duck(database, database.other if second else database.rows)
