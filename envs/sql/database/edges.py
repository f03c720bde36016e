"""Databases with many rows on the edge of what a query asks for, where a slip cannot hide.

Source: databases distilled for a query, by which test suites tell wrong ones (Zhong, Yu and Klein,
EMNLP 2020).
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from random import Random

import sqlglot
from sqlglot import exp

from synth.envs.sql.database.schema import ColumnSpec, Database, Row, is_day
from synth.schemas import Scalar

_SHARE = 0.5
"""Of the rows that get such a value."""
_DAYS, _WORDS = "date", ("one_of", "text", "person", "label")


def on_edges(database: Database, sql: str, seed: int) -> Database:
    """The database with values of a query, and their neighbours, in half of its rows.

    Where a column can hold none, half of its rows share two of its own: rows that are alike.
    """
    draw = Random(f"sql edges {seed} {sql}")
    values = _values_of(sql)
    rows: dict[str, Sequence[Row]] = {}

    for table in database.tables:
        known = list(zip(*database.rows[table.name], strict=True))[1:]
        edges = [  # of an empty table none
            list(_edges(column, values)) or draw.choices(own, k=2)
            for column, own in zip(table.columns, known, strict=False)
        ]
        rows[table.name] = [
            (key, *(_moved(one, edge, draw) for one, edge in zip(own, edges, strict=True)))
            for key, *own in database.rows[table.name]
        ]

    return Database(database.tables, rows)


def beside(day: str) -> Iterator[str]:
    """The day before, the day itself, the day after; a calendar has a first and a last one."""
    number = date.fromisoformat(day).toordinal()
    for other in range(max(number - 1, 1), min(number + 1, date.max.toordinal()) + 1):
        yield date.fromordinal(other).isoformat()


def _moved(value: Scalar, edges: Sequence[Scalar], draw: Random) -> Scalar:
    """A value, or one of the edges in its place; nothing stays nothing."""
    edge = draw.choice(edges)
    return value if None in (value, edge) or draw.random() > _SHARE else edge


@lru_cache(maxsize=64)
def _values_of(sql: str) -> Mapping[str, Sequence[str]]:
    """The days, words and numbers that a statement compares with."""
    found: dict[str, list[str]] = {"days": [], "words": [], "numbers": []}

    for node in sqlglot.parse_one(sql, dialect="sqlite").find_all(exp.Literal):
        if not node.is_string:
            found["numbers"].append(node.this)
        else:
            found["days" if is_day(node.this) else "words"].append(node.this)

    return found


def _edges(column: ColumnSpec, values: Mapping[str, Sequence[str]]) -> Iterator[Scalar]:
    """The values of a query that a column can hold, and those beside them."""
    if column.kind == _DAYS:
        for day in values["days"]:
            yield from beside(day)

    elif column.kind in _WORDS:
        yield from (word for word in values["words"] if not column.of or word in column.of)

    elif column.numeric:
        for number in values["numbers"]:
            for step in (-1, 0, 1):
                near = float(number) + step
                yield int(near) if column.kind == "number" else near
