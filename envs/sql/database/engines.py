"""Runs statements of strangers: SQLite with branches by savepoints, DuckDB for reading alone.

Neither reaches a file, a clock, chance or another database; both stop what takes too long or grows
too large. What a statement did wrong is a `StatementError`, which its author reads.
"""

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote

import duckdb

from synth.envs.sql.database.results import (
    LONGEST_STATEMENT,
    LONGEST_VALUE,
    MOST_ROWS,
    REFUSED_FUNCTIONS,
    Result,
    StatementError,
    refuse_undetermined,
    result_of,
    statement_error,
)
from synth.envs.sql.database.schema import Database, Row, quoted
from synth.schemas import Scalar, valid_text

TODAY = "2024-07-01"
"""What every clock says."""
_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_PRINTS = ("printf", "format")
_WIDE = re.compile(r"%[-+ #,!.\d]*(?:\*|\d{4})")
"""A width that the arguments give, or of a thousand characters and more."""
_CURRENT = {"date": TODAY, "time": "00:00:00", "timestamp": f"{TODAY} 00:00:00"}


def set_functions(db: sqlite3.Connection) -> None:
    """Makes every function of the time say that it is `TODAY`, and keeps texts from growing."""
    unchanged = sqlite3.connect(":memory:", check_same_thread=False)
    for name in _FUNCTIONS:
        db.create_function(name, -1, partial(_today, unchanged, name))

    # one call of these can fill a gigabyte, and no instruction comes between to be stopped at
    for name in _PRINTS:
        db.create_function(name, -1, partial(_printed, unchanged))

    for name, text in _CURRENT.items():
        db.create_function(f"current_{name}", 0, partial(str, text))


def _today(unchanged: sqlite3.Connection, name: str, *arguments: Any) -> Any:
    """What a function gives with `TODAY` in the place of now; without a time, now is meant."""
    before = 1 if name == "strftime" else 0
    times = [_told(one) for one in arguments[before:]] or [TODAY]
    every = (*arguments[:before], *times)
    marks = ", ".join("?" * len(every))

    return unchanged.execute(f"SELECT {name}({marks})", every).fetchone()[0]


def _printed(unchanged: sqlite3.Connection, *arguments: Any) -> Any:
    """A formatted text. Raises `ValueError` for one that may become long."""
    if arguments and _WIDE.search(str(arguments[0])):
        raise ValueError("a width of a thousand characters, or one that is told by an argument")

    return unchanged.execute(
        f"SELECT printf({', '.join('?' * len(arguments))})", arguments
    ).fetchone()[0]


def _told(argument: Any) -> Any:
    """An argument of a time function, `TODAY` where it says now."""
    is_now = isinstance(argument, str) and argument.strip().lower() == "now"
    return TODAY if is_now else argument


_STEPS, _EVERY = 3_000_000, 10_000
"""Virtual machine instructions of one statement: some tens of milliseconds."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: LONGEST_STATEMENT,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
}
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_WRITES = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}


class Sqlite:
    """An SQLite database in memory; every change is a savepoint that `rewind` goes back to."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.changes: list[str] = []
        self._allowed: Set[int] | None = None
        self._wrote = False
        self._steps = 0
        self._db = sqlite3.connect(
            ":memory:",
            isolation_level=None,
            check_same_thread=False,
            cached_statements=0,  # a statement that was prepared before is not authorized again
        )
        self._db.deserialize(database.image)
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA max_page_count = 4096")
        for limit, most in _LIMITS.items():
            self._db.setlimit(limit, most)

        set_functions(self._db)
        self._db.set_authorizer(self._authorize)
        self._db.set_progress_handler(self._tick, _EVERY)

    def query(self, sql: str) -> Result:
        """What a statement reads. Raises `StatementError`."""
        with self._watched(_READS):
            cursor = self._db.execute(sql)
            rows = cursor.fetchmany(MOST_ROWS + 1)

        if not cursor.description:
            raise StatementError("this reads nothing: give one SELECT")

        return result_of([valid_text(column[0]) for column in cursor.description], rows)

    def change(self, sql: str) -> int:
        """Rows that a statement inserts, updates or deletes.

        Raises `StatementError`; nothing has changed then.
        """
        savepoint = f"s{len(self.changes)}"
        self._db.execute(f"SAVEPOINT {savepoint}")

        try:
            with self._watched(_READS | _WRITES):
                cursor = self._db.execute(sql)
                cursor.fetchall()

            if not self._wrote:
                raise StatementError("this changes nothing: give one INSERT, UPDATE or DELETE")
        except StatementError:
            self._back_to(savepoint)
            raise

        self.changes.append(sql)

        return max(cursor.rowcount, 0)

    def rewind(self, changes: Sequence[str]) -> None:
        """Goes to the state after other changes: back to where both part, then on."""
        pairs = enumerate(zip(changes, self.changes, strict=False))
        shortest = min(len(changes), len(self.changes))
        shared = next((at for at, (one, other) in pairs if one != other), shortest)

        if shared < len(self.changes):
            self._back_to(f"s{shared}")
            del self.changes[shared:]

        for sql in changes[shared:]:
            self.change(sql)

    def rows(self, table: str, names: Sequence[str]) -> list[Row]:
        """All rows of a table, by its key, which is the first name."""
        columns = ", ".join(map(quoted, names))
        order = quoted(names[0])

        return list(self._db.execute(f"SELECT {columns} FROM {quoted(table)} ORDER BY {order}"))

    def facts(self) -> dict[str, Scalar]:
        """Every value by `table/key/column`."""
        found: dict[str, Scalar] = {}

        for table in self.database.tables:
            ends = [f"/{segment(name)}" for name in table.names[1:]]
            for key, *values in self.rows(table.name, table.names):
                row = f"{segment(table.name)}/{key}"
                found.update({row + end: one for end, one in zip(ends, values, strict=True)})

        return found

    def close(self) -> None:
        """Lets the database go."""
        self._db.close()

    def _back_to(self, savepoint: str) -> None:
        """Undoes what happened since a savepoint, and forgets it."""
        self._db.execute(f"ROLLBACK TO {savepoint}")
        self._db.execute(f"RELEASE {savepoint}")

    @contextmanager
    def _watched(self, allowed: Set[int]) -> Iterator[None]:
        """Lets a stranger's statement do what is allowed. Raises `StatementError`."""
        self._allowed, self._wrote, self._steps = allowed, False, 0

        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise statement_error(error) from error
        finally:
            self._allowed = None

    def _authorize(self, action: int, first: Any, second: Any, *_: Any) -> int:
        """Tells SQLite whether a statement may do something, before it runs."""
        if self._allowed is None:
            return sqlite3.SQLITE_OK

        is_function = action == sqlite3.SQLITE_FUNCTION

        if is_function:
            refused = str(second).lower() in REFUSED_FUNCTIONS
        elif action in _WRITES and str(first).lower().startswith("sqlite_"):
            refused = True
        else:
            self._wrote = self._wrote or action in _WRITES
            refused = action not in self._allowed

        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    def _tick(self) -> bool:
        """Whether a statement is to be stopped: it has run for too long."""
        self._steps += _EVERY
        return self._allowed is not None and self._steps > _STEPS


@lru_cache(maxsize=4096)
def segment(name: str) -> str:
    """A name as a segment of a path."""
    return quote(name, safe=" ")


_PATIENCE_S = 5.0


class Duck:
    """A DuckDB database in memory, for reading alone."""

    def __init__(self, database: Database) -> None:
        self._db = duckdb.connect(config={"threads": 1, "memory_limit": "256MB"})
        self._db.execute(database.ddl)

        for statement, rows in database.inserts():
            if rows:
                self._db.executemany(statement, rows)

        # without these two, a query reads and writes any file
        self._db.execute("SET enable_external_access = false")
        self._db.execute("SET lock_configuration = true")

    def query(self, sql: str) -> Result:
        """What a statement reads. Raises `StatementError`."""
        refuse_undetermined(sql, "duckdb")
        late = threading.Timer(_PATIENCE_S, self._db.interrupt)
        late.start()

        try:
            cursor = self._db.execute(sql)
            rows = cursor.fetchmany(MOST_ROWS + 1)
        except (duckdb.Error, RuntimeError, ValueError) as error:
            raise statement_error(error) from error
        finally:
            late.cancel()

        return result_of([column[0] for column in cursor.description], rows)

    def close(self) -> None:
        """Lets the database go."""
        self._db.close()
