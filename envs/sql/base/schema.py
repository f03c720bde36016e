"""What a database consists of: tables, columns, what they are called in words, and its rows."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from synth.schemas.check import Scalar
from synth.schemas.yaml_text import read_yaml

Row = tuple[Scalar, ...]
Rows = Mapping[str, Sequence[Row]]
"""By table, each row in the order of the table's columns, the key `id` first."""
FEWEST_TABLES = 3


class ColumnSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A column: `name` in the database, `phrase` in words, `kind` one of those of data/domains.yaml
    (`text` in a user's own database: words that are no choice).
    """

    name: str
    phrase: str
    kind: str
    of: tuple[str, ...] = ()
    low: Any = None
    high: Any = None
    nulls: float = 0.0

    @property
    def type(self) -> str:
        """The type that SQL declares."""
        return {"number": "INTEGER", "ref": "INTEGER", "money": "DOUBLE"}.get(self.kind, "TEXT")

    @property
    def numeric(self) -> bool:
        """Whether sums and averages of it mean something."""
        return self.kind in ("number", "money")


KEY = ColumnSpec(name="id", phrase="id", kind="key")


class TableSpec(msgspec.Struct, frozen=True):
    """A table; `columns` without the key."""

    name: str
    noun: str
    many: str
    columns: tuple[ColumnSpec, ...]
    size: int = 0
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


class Database(msgspec.Struct, frozen=True):
    """A schema with rows; `other` rows are those of a second database of the same schema."""

    tables: tuple[TableSpec, ...]
    rows: Rows
    other: Rows

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


def ddl(database: Database) -> str:
    """The statements that make the tables; a comment says in words what a column holds."""
    return "\n\n".join(map(_create, database.tables))


def _create(table: TableSpec) -> str:
    lines = [f'  "{table.key}" INTEGER PRIMARY KEY,']
    for place, column in enumerate(table.columns):
        more = "" if column.nulls else " NOT NULL"
        more += f' REFERENCES "{column.of[0]}"' if column.kind == "ref" else ""
        comma = "," if place < len(table.columns) - 1 else ""
        lines.append(f'  "{column.name}" {column.type}{more}{comma}  -- {column.phrase}')
    return f'CREATE TABLE "{table.name}" (  -- {table.many}\n' + "\n".join(lines) + "\n);"


@cache
def _domains() -> Mapping[str, Any]:
    text = resources.files("synth.envs.sql").joinpath("data/domains.yaml").read_text("utf-8")
    found: Mapping[str, Any] = read_yaml(text, "domains.yaml")
    return found


def domains() -> tuple[str, ...]:
    """The names of the domains."""
    return tuple(name for name, tables in _domains().items() if isinstance(tables, dict))


def generated(domain: str, tables: int, seed: int, other: int) -> Database:
    """The database of a seed: which of the domain's tables (at most `tables`, with all that they
    refer to), what their columns are called, and rows; the second one has rows of seed `other`.
    """
    draw = random.Random(f"sql schema {domain} {seed}")
    every: Mapping[str, Any] = _domains()[domain]
    count = draw.randint(min(FEWEST_TABLES, tables), min(tables, len(every)))
    names: set[str] = set()
    for name in draw.sample(sorted(every), len(every)):
        closed = _closed(every, name)
        if len(names | closed) <= count or not names:
            names |= closed
    made = tuple(_table(name, every[name], draw) for name in every if name in names)
    drawn = [_rows(made, random.Random(f"sql rows {domain} {seed} {one}")) for one in (0, other)]
    return Database(made, *drawn)


def _closed(every: Mapping[str, Any], name: str) -> set[str]:
    """A table with all that it refers to."""
    refs = [c["of"] for c in every[name]["columns"].values() if c["kind"] == "ref"]
    return {name}.union(*(_closed(every, ref) for ref in refs))


def _table(name: str, told: Mapping[str, Any], draw: random.Random) -> TableSpec:
    noun, many = told["nouns"]
    columns: list[ColumnSpec] = []
    for key, column in told["columns"].items():
        taken = {"id", *(one.name for one in columns)}
        free = [one for one in column["as"] if one not in taken] or [key]
        of = column.get("of", ())
        columns.append(
            ColumnSpec(
                name=draw.choice(free),
                phrase=column.get("is", key),
                kind=column["kind"],
                of=(of,) if isinstance(of, str) else tuple(of),
                low=column.get("low"),
                high=column.get("high"),
                nulls=column.get("nulls", 0.0),
            )
        )
    return TableSpec(name, noun, many, tuple(columns), told["rows"])


def _rows(tables: Sequence[TableSpec], draw: random.Random) -> Rows:
    """Rows for all tables; ids have gaps, so that none can be guessed."""
    ids: dict[str, list[int]] = {}
    rows: dict[str, list[Row]] = {}
    for table in tables:
        size = max(3, round(table.size * draw.uniform(0.8, 1.1)))
        ids[table.name] = sorted(draw.sample(range(1, 2 * size + 10), size))
    for table in tables:
        rows[table.name] = [
            (key, *(_value(column, ids, draw) for column in table.columns))
            for key in ids[table.name]
        ]
    return rows


def _value(column: ColumnSpec, ids: Mapping[str, Sequence[int]], draw: random.Random) -> Scalar:
    if column.nulls and draw.random() < column.nulls:
        return None
    match column.kind:
        case "ref":
            return draw.choice(ids[column.of[0]])
        case "one_of":
            return draw.choice(column.of)
        case "person":
            return f"{draw.choice(_domains()['names'])} {draw.choice(_domains()['surnames'])}"
        case "label":
            return f"{draw.choice('ABCDEFGH')}-{draw.randint(10, 99)}"
        case "date":
            low, high = map(date.fromisoformat, (column.low, column.high))
            return str(low + timedelta(draw.randint(0, (high - low).days)))
        case "money":
            return draw.randint(column.low, column.high) / 100
        case _:
            return draw.randint(column.low, column.high)


def shuffled(tables: Sequence[TableSpec], rows: Rows, seed: int) -> Rows:
    """Other rows for a database whose rows nobody can make: about four of five, each column's
    values dealt anew among them. Rows that others refer to all stay.
    """
    columns = (column for table in tables for column in table.columns)
    referred = {column.of[0] for column in columns if column.kind == "ref"}
    found: dict[str, list[Row]] = {}
    for table in tables:
        draw = random.Random(f"sql shuffled {seed} {table.name}")
        kept = [row for row in rows[table.name] if table.name in referred or draw.random() < 0.8]
        dealt = [[row[place] for row in kept] for place in range(len(table.names))]
        for values in dealt[1:]:
            draw.shuffle(values)
        found[table.name] = list(zip(*dealt, strict=True))
    return found


def is_day(text: Any) -> bool:
    """Whether a value is a date as SQL writes it."""
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
