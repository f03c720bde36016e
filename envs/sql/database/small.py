"""Small databases with rows on the edge of what a query asks for: a few rows of each table, whose
groups are as large as a bound asks for, and in which a value depends on one row alone.

Sources: that mistakes show on small inputs is the small scope hypothesis (Jackson and Damon, 1996);
that a query is told by a few databases which are chosen for it, test suites for text-to-SQL
(Zhong, Yu and Klein, EMNLP 2020).
"""

from collections.abc import Mapping, Sequence
from random import Random

from synth.envs.sql.database.edges import on_edges
from synth.envs.sql.database.schema import ColumnSpec, Database, Row, TableSpec
from synth.schemas import Scalar

MOST_SMALL = 8
"""Of these, as many as a check looks at."""
_SIZES = (3, 6, 12)
"""The most rows that each table of one database has."""
_EMPTY = (0.0, 0.2, 0.5)
"""How many values are left out of columns that may be empty."""
_ALIKE = 0.3
"""How many values are those of another row that stays."""
Keys = Mapping[str, Sequence[Scalar]]
"""By table, the keys of its rows that stay."""


def small(database: Database, sql: str, number: int) -> Database:
    """A few rows of a database, by a number, with values of a query and their neighbours in half
    of them; references lead to rows that are there.
    """
    draw = Random(f"sql small {number} {sql}")
    most, empty = draw.choice(_SIZES), draw.choice(_EMPTY)
    kept = {table.name: _some(database.rows[table.name], most, draw) for table in database.tables}
    keys = {name: [row[0] for row in rows] for name, rows in kept.items()}
    rows = {
        table.name: _dealt(table, kept[table.name], keys, empty, draw) for table in database.tables
    }

    return on_edges(Database(database.tables, rows), sql, number)


def _some(rows: Sequence[Row], most: int, draw: Random) -> list[Row]:
    """At least one row, where there is any."""
    count = min(len(rows), draw.randint(1, most))
    return draw.sample(list(rows), count)


def _dealt(
    table: TableSpec, rows: Sequence[Row], keys: Keys, empty: float, draw: Random
) -> list[Row]:
    """Rows whose values stand in another row too, or are left out, here and there."""
    columns = list(zip(table.columns, list(zip(*rows, strict=True))[1:], strict=False))
    return [
        (
            key,
            *(_value(*one, own, keys, empty, draw) for one, own in zip(columns, row, strict=True)),
        )
        for key, *row in rows
    ]


def _value(
    column: ColumnSpec,
    known: Sequence[Scalar],
    own: Scalar,
    keys: Keys,
    empty: float,
    draw: Random,
) -> Scalar:
    """One value of a row."""
    if own is None or (column.nulls and draw.random() < empty):
        return None

    if column.kind == "ref":
        return draw.choice(keys[column.of[0]] or (own,))

    there = [value for value in known if value is not None]
    return draw.choice(there) if draw.random() < _ALIKE else own
