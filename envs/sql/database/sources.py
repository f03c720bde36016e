"""Which databases there are: made by seed, or read from a file of the user's."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache, lru_cache
from random import Random
from typing import Any, Literal, Protocol

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.envs.sql.database.engines import Duck, Sqlite
from synth.envs.sql.database.results import Result
from synth.envs.sql.database.schema import ColumnSpec, Database, Row, Rows, TableSpec
from synth.schemas import ConfigError, Scalar
from synth.text.data_files import read

Kind = Literal["question", "change", "repair"]


class DatabaseSource(Protocol):
    """Where databases come from; `digest` of the file, None where they are made."""

    digest: str | None

    def database(self, seed: int, other: int = 0) -> Database:
        """The database of a seed; with a number, another one beside it with the same schema."""


class SqlConfig(BaseModel):
    """`domain`: one of those of data/domains.yaml, by default another one from seed to seed.

    `tables`: the most that a database has. `plain`: tables and columns are called in words what
    they are called in the schema, and a task asks about one table with one condition at most.
    `kinds`: which tasks are made. `engine`: `duckdb` for questions alone. `digest` pins a user's
    file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: str | None = Field(default=None, max_length=40)
    tables: int = Field(default=8, ge=1, le=12)
    level: float = Field(default=0.5, ge=0, le=1)
    plain: bool = False
    kinds: tuple[Kind, ...] = Field(
        default=("question", "change", "question", "repair"), min_length=1, max_length=12
    )
    engine: Literal["sqlite", "duckdb"] = "sqlite"
    digest: str | None = Field(default=None, max_length=100)
    explored_seed: int = Field(default=0, ge=-(2**63), lt=2**63)

    def pinned(self, source: DatabaseSource) -> dict[str, Any]:
        """What of the settings determines where an episode begins."""
        found = self.model_dump(include={"domain", "tables", "engine"}, exclude_none=True)
        plain = {"plain": True} if self.plain else {}
        return {**found, **plain, **({"digest": source.digest} if source.digest else {})}

    def opened(self, database: Database) -> "Engine":
        """A database to run statements in."""
        return Sqlite(database) if self.engine == "sqlite" else Duck(database)


class Engine(Protocol):
    """A database that statements run in."""

    def query(self, sql: str) -> Result:
        """What a statement reads. Raises `StatementError`."""

    def close(self) -> None:
        """Lets the database go."""


class Made:
    """Databases by seed."""

    digest: str | None = None

    def __init__(self, config: SqlConfig) -> None:
        if config.domain is not None and config.domain not in domains():
            raise ConfigError(f"sql has no domain {config.domain!r}; it has {', '.join(domains())}")

        self._domain, self._tables, self._plain = config.domain, config.tables, config.plain

    def database(self, seed: int, other: int = 0) -> Database:
        """The database of a seed; `other` numbers those with other rows."""
        domain = self._domain or Random(f"sql {seed}").choice(list(domains()))
        return generated(domain, self._tables, seed, other, plain=self._plain)


FEWEST_TABLES = 3


class _Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of the file, which says what its fields mean."""

    kind: str
    names: tuple[str, ...] = msgspec.field(name="as")
    phrase: str | None = msgspec.field(name="is", default=None)
    of: tuple[str, ...] | str = ()
    low: Any = None
    high: Any = None
    nulls: float = 0.0


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file; `rows` is about how many it has."""

    nouns: tuple[str, str]
    rows: int
    columns: dict[str, _Column]

    @property
    def refers_to(self) -> list[str]:
        """The tables that its columns refer to."""
        return [str(column.of) for column in self.columns.values() if column.kind == "ref"]


Domain = Mapping[str, _Table]


def _file() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read("envs/sql/data/domains.yaml", dict[str, Any])
    return found


@cache
def domains() -> Mapping[str, Domain]:
    """The domains by name."""
    told = {name: tables for name, tables in _file().items() if isinstance(tables, dict)}
    return msgspec.convert(told, dict[str, dict[str, _Table]])


@lru_cache(maxsize=256)
def generated(
    domain: str, tables: int, seed: int, other: int = 0, *, plain: bool = False
) -> Database:
    """The database of a seed; `plain`: called in words what it is called in the schema.

    The seed says which of the domain's tables it has (at most `tables`, with all that they refer
    to), what their columns are called, and its rows; with another `other` it has other rows.
    """
    draw = Random(f"sql schema {domain} {seed}")
    every = domains()[domain]
    count = draw.randint(min(FEWEST_TABLES, tables), min(tables, len(every)))

    names: set[str] = set()

    for name in draw.sample(sorted(every), len(every)):
        closed = _closed(every, name)
        if len(names | closed) <= count or not names:
            names |= closed

    chosen = {name: table for name, table in every.items() if name in names}
    made = tuple(_table(name, table, draw, plain=plain) for name, table in chosen.items())
    rows = _rows(chosen, Random(f"sql rows {domain} {seed} {other}"))

    return Database(made, rows)


def _closed(every: Domain, name: str) -> set[str]:
    """A table with all that it refers to."""
    return {name}.union(*(_closed(every, other) for other in every[name].refers_to))


def _table(name: str, told: _Table, draw: Random, *, plain: bool) -> TableSpec:
    """A table whose columns get one of their names each."""
    columns: list[ColumnSpec] = []
    for key, column in told.columns.items():
        taken = {"id", *(one.name for one in columns)}
        free = [one for one in column.names if one not in taken] or [key]
        called = draw.choice(free)
        columns.append(
            ColumnSpec(
                name=called,
                phrase=called if plain else column.phrase or key,
                kind=column.kind,
                of=(column.of,) if isinstance(column.of, str) else column.of,
                nulls=column.nulls,
            )
        )

    return TableSpec(name, name if plain else told.nouns[1], tuple(columns))


def _rows(tables: Domain, draw: Random) -> Rows:
    """Rows for all tables; ids have gaps, so that none can be guessed."""
    ids: dict[str, list[int]] = {}

    for name, table in tables.items():
        size = max(3, round(table.rows * draw.uniform(0.8, 1.1)))
        ids[name] = sorted(draw.sample(range(1, 2 * size + 10), size))

    rows: dict[str, list[Row]] = {}

    for name, table in tables.items():
        columns = table.columns.values()
        rows[name] = [(key, *(_value(one, ids, draw) for one in columns)) for key in ids[name]]

    return rows


def _value(column: _Column, ids: Mapping[str, Sequence[int]], draw: Random) -> Scalar:
    """A value for a column, or None as often as it has none."""
    if column.nulls and draw.random() < column.nulls:
        return None

    match column.kind:
        case "ref":
            return draw.choice(ids[str(column.of)])
        case "one_of":
            return draw.choice(column.of)
        case "person":
            return f"{draw.choice(_file()['names'])} {draw.choice(_file()['surnames'])}"
        case "label":
            return f"{draw.choice('ABCDEFGH')}-{draw.randint(10, 99)}"
        case "date":
            low, high = (date.fromisoformat(str(bound)) for bound in (column.low, column.high))
            return str(low + timedelta(draw.randint(0, (high - low).days)))
        case "money":
            return draw.randint(column.low, column.high) / 100
        case _:
            return draw.randint(column.low, column.high)
