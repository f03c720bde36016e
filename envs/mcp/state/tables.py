"""The rows of a SQLite file as facts. It is read from its bytes, in memory: what was put into it is
never run, and nothing is written.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from urllib.parse import quote

from synth.schemas import Scalar, content_hash

TABLE = "@table"
"""The column that says in which table a row stands."""
HEADER = b"SQLite format 3\0"
MOST_ROWS = 2000
LONGEST_VALUE = 16_384
MOST_INSTRUCTIONS = 50_000_000
_WRITE_AHEAD = slice(18, 20)
"""Bytes 18 and 19 of the header: 2 where there is a write-ahead log beside the file, which no
database in memory has; 1 where not.
"""


def is_database(blob: bytes) -> bool:
    """Whether a file says that it is one."""
    return blob.startswith(HEADER)


def table_facts(name: str, blob: bytes) -> dict[str, Scalar] | None:
    """`table/<file>:<table>/columns`, `row/<file>:<table>:<hash>/<column>`, and
    `table/<file>:<name>/sql` of indexes, views and triggers.

    A row's key is the hash of its content. None where something in it is no fact: a table of
    another module, a value that is no text or
    number, more than `MOST_ROWS` rows, a damaged file. `name` is the file's, percent-encoded.
    """

    image = bytearray(blob)
    image[_WRITE_AHEAD] = b"\1\1"
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(bytes(image))
            database.set_progress_handler(lambda: 1, MOST_INSTRUCTIONS)
            database.execute("PRAGMA trusted_schema = OFF")
            return _facts(name, database)
    except (sqlite3.Error, ValueError, OverflowError):
        return None


def _facts(name: str, database: sqlite3.Connection) -> dict[str, Scalar]:
    """The facts of all tables. Raises `ValueError` where something is no fact."""

    found: dict[str, Scalar] = {}
    rows = 0
    there = database.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    for kind, title, sql in there:
        if title.startswith("sqlite_"):
            continue
        table = f"{name}:{quote(title, safe='')}"
        found[f"table/{table}/{TABLE}"] = table
        if kind != "table":
            found[f"table/{table}/sql"] = sql
            continue

        if sql is None or sql.upper().startswith("CREATE VIRTUAL"):
            raise ValueError(f"{title} is a table of another module")

        told = database.execute(
            "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden != 1", (title,)
        ).fetchall()
        found[f"table/{table}/columns"] = ", ".join(
            " ".join(f"{c} {t}{' PRIMARY KEY' if pk else ''}".split()) for c, t, pk in told
        )
        for key, row in _rows(database, title, [each for each, _, _ in told]):
            rows += 1
            if rows > MOST_ROWS:
                raise ValueError(f"more than {MOST_ROWS} rows")
            place = f"row/{table}:{key}"
            found |= {f"{place}/{TABLE}": table}
            found |= {f"{place}/{column(each)}": value for each, value in row.items()}

    return found


def _rows(
    database: sqlite3.Connection, title: str, columns: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, Scalar]]]:
    """The rows of a table by key: the hash of the content, copies numbered. Raises `ValueError`
    where something is no fact.
    """

    if any("/" in each or not each or each.startswith("@") for each in columns):
        raise ValueError(f"{title} has a column that no path can name")
    seen: Counter[str] = Counter()
    for row in database.execute(f"SELECT * FROM {_quoted(title)}"):
        if not all(map(_tellable, row)):
            raise ValueError(f"{title} has a value that is no fact")
        key = content_hash(list(row))
        seen[key] += 1
        copy = f"{key}#{seen[key] - 1}" if seen[key] > 1 else key
        yield copy, dict(zip(columns, row, strict=True))


def column(field: str) -> str:
    """A field as a fact's column: `id` would be taken for a row's key."""
    return "@id" if field == "id" else field


def _tellable(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_VALUE

    return (
        value is None
        or isinstance(value, int)
        or (isinstance(value, float) and math.isfinite(value))
    )


def _quoted(title: str) -> str:
    return '"' + title.replace('"', '""') + '"'
