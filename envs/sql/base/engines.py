"""Runs statements of strangers: SQLite with branches by savepoints, DuckDB for reading alone.

Neither reaches a file, a clock, chance or another database; both stop what takes too long or grows
too large. What a statement did wrong is a `StatementError`, which its author reads.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import duckdb
import sqlglot
from sqlglot import exp

from synth.envs.sql.base.results import LONGEST_VALUE, MOST_ROWS, Result, StatementError, result_of
from synth.envs.sql.base.schema import Database, Row, Rows, ddl
from synth.schemas.canonical import valid_text

TODAY = "2024-07-01"
"""What every clock says."""
_STEPS, _EVERY = 3_000_000, 10_000
"""Virtual machine instructions of one statement: some tens of milliseconds."""
_PATIENCE_S = 5.0
_CLOCKS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_NAMES = (
    "random randomblob changes total_changes last_insert_rowid load_extension sqlite_version "
    "sqlite_source_id readfile writefile edit fts3_tokenizer uuid gen_random_uuid now today "
    "getenv current_setting setseed rand nextval get_current_time get_current_timestamp "
    "transaction_timestamp current_localtime current_localtimestamp currval txid_current"
)
_REFUSED = frozenset(_NAMES.split())
"""Functions whose value the database does not determine, or that reach out of it."""
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_WRITES = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}


class Engine(Protocol):
    """A database that statements run in."""

    def query(self, sql: str) -> Result: ...
    def close(self) -> None: ...


class Sqlite:
    """An SQLite database in memory; every change is a savepoint that `rewind` goes back to."""

    def __init__(self, image: bytes) -> None:
        self._db = sqlite3.connect(
            ":memory:",
            isolation_level=None,
            check_same_thread=False,
            cached_statements=0,  # a statement that was prepared before is not authorized again
        )
        self._db.deserialize(image)
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA max_page_count = 4096")
        for limit, most in (
            (sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 20_000),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100),
            (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50),
        ):
            self._db.setlimit(limit, most)
        _still_clocks(self._db)
        self._allowed: set[int] | None = None
        self._wrote = False
        self._steps = 0
        self._db.set_authorizer(self._authorize)
        self._db.set_progress_handler(self._tick, _EVERY)
        self.changes: list[str] = []

    def query(self, sql: str) -> Result:
        """What a statement reads. Raises `StatementError`."""
        with self._as(_READS):
            cursor = self._run(sql)
            try:
                rows = cursor.fetchmany(MOST_ROWS + 1)
            except sqlite3.Error as error:
                raise StatementError(_said(error)) from error
        names = tuple(valid_text(one[0]) for one in cursor.description or ())
        if not names:
            raise StatementError("this reads nothing: give one SELECT")
        return result_of(names, rows)

    def change(self, sql: str) -> int:
        """Rows that a statement inserts, updates or deletes. Raises `StatementError`; nothing has
        changed then.
        """
        name = f"s{len(self.changes)}"
        self._db.execute(f"SAVEPOINT {name}")
        try:
            with self._as(_READS | _WRITES):
                cursor = self._run(sql)
                cursor.fetchall()
            if not self._wrote:
                raise StatementError("this changes nothing: give one INSERT, UPDATE or DELETE")
        except (sqlite3.Error, StatementError) as error:
            self._db.execute(f"ROLLBACK TO {name}")
            self._db.execute(f"RELEASE {name}")
            raise (
                error if isinstance(error, StatementError) else StatementError(_said(error))
            ) from error
        self.changes.append(sql)
        return max(cursor.rowcount, 0)

    def rewind(self, changes: Sequence[str]) -> None:
        """Goes to the state after other changes: back to where both part, then on."""
        shared = 0
        while shared < min(len(changes), len(self.changes)) and (
            changes[shared] == self.changes[shared]
        ):
            shared += 1
        if shared < len(self.changes):
            self._db.execute(f"ROLLBACK TO s{shared}")
            self._db.execute(f"RELEASE s{shared}")
            del self.changes[shared:]
        for sql in changes[shared:]:
            self.change(sql)

    def rows(self, table: str, names: Sequence[str]) -> list[Row]:
        """All rows of a table, by its key."""
        columns = ", ".join(quoted(name) for name in names)
        found = self._db.execute(
            f"SELECT {columns} FROM {quoted(table)} ORDER BY {quoted(names[0])}"
        )
        return list(found)

    def close(self) -> None:
        """Lets the database go."""
        self._db.close()

    @contextmanager
    def _as(self, allowed: set[int]) -> Iterator[None]:
        self._allowed, self._wrote, self._steps = allowed, False, 0
        try:
            yield
        finally:
            self._allowed = None

    def _run(self, sql: str) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise StatementError(_said(error)) from error

    def _authorize(self, action: int, first: Any, second: Any, *_: Any) -> int:
        if self._allowed is None:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            refused = str(second).lower() in _REFUSED
            return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
        if action in _WRITES and str(first).lower().startswith("sqlite_"):
            return sqlite3.SQLITE_DENY
        self._wrote = self._wrote or action in _WRITES
        return sqlite3.SQLITE_OK if action in self._allowed else sqlite3.SQLITE_DENY

    def _tick(self) -> bool:
        self._steps += _EVERY
        return self._allowed is not None and self._steps > _STEPS


class Duck:
    """A DuckDB database in memory, for reading alone."""

    def __init__(self, database: Database, rows: Rows) -> None:
        self._db = duckdb.connect(config={"threads": 1, "memory_limit": "256MB"})
        self._db.execute(ddl(database))
        for table in database.tables:
            marks = ", ".join("?" * len(table.names))
            if rows[table.name]:
                self._db.executemany(
                    f"INSERT INTO {quoted(table.name)} VALUES ({marks})", rows[table.name]
                )
        self._db.execute("SET enable_external_access = false")
        self._db.execute("SET lock_configuration = true")

    def query(self, sql: str) -> Result:
        """What a statement reads. Raises `StatementError`."""
        if len(sql) > 20_000:
            raise StatementError("the statement is longer than 20000 characters")
        refuse_undetermined(sql, "duckdb")
        late = threading.Timer(_PATIENCE_S, self._db.interrupt)
        late.start()
        try:
            cursor = self._db.execute(sql)
            rows = cursor.fetchmany(MOST_ROWS + 1)
        except (duckdb.Error, RuntimeError, ValueError) as error:
            raise StatementError(_said(error)) from error
        finally:
            late.cancel()
        return result_of(tuple(one[0] for one in cursor.description), rows)

    def close(self) -> None:
        """Lets the database go."""
        self._db.close()


def image(database: Database, rows: Rows) -> bytes:
    """A database as SQLite keeps it."""
    made = sqlite3.connect(":memory:")
    try:
        made.executescript(ddl(database))
        for table in database.tables:
            marks = ", ".join("?" * len(table.names))
            made.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({marks})", rows[table.name])
        made.commit()
        return made.serialize()
    finally:
        made.close()


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def refuse_undetermined(sql: str, dialect: str) -> None:
    """Raises `StatementError` for what is no single SELECT, or asks for the time or for chance."""
    try:
        (tree,) = sqlglot.parse(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError) as error:
        raise StatementError(f"give one SELECT that can be read: {_said(error)}") from error
    if not isinstance(tree, exp.Query):
        raise StatementError("only reading is possible here: give one SELECT")
    for node in tree.walk():
        name = node.name if isinstance(node, exp.Anonymous) else ""
        name = name or (node.sql_name() if isinstance(node, exp.Func) else "")
        if name.lower() in _REFUSED or name.lower().startswith("current_"):
            raise StatementError(f"the function {name.lower()} is not available")


def _said(error: Exception) -> str:
    """An error in one line, with what it means here."""
    text = " ".join(str(error).split())
    known = {
        "not authorized": "this is not allowed here",
        "interrupted": "this takes too long: ask for less",
        "INTERRUPT": "this takes too long: ask for less",
    }
    more = next((meaning for sign, meaning in known.items() if sign in text), "")
    return valid_text(f"{text[:300]}; {more}" if more else text[:300])


def _still_clocks(db: sqlite3.Connection) -> None:
    """Every function of the time says that it is `TODAY`."""
    inner = sqlite3.connect(":memory:", check_same_thread=False)

    def still(name: str) -> Any:
        def at(*arguments: Any) -> Any:
            form = arguments[:1] if name == "strftime" else ()
            rest = [
                TODAY if isinstance(one, str) and one.strip().lower() == "now" else one
                for one in arguments[len(form) :]
            ] or [TODAY]
            every = (*form, *rest)
            marks = ", ".join("?" * len(every))
            return inner.execute(f"SELECT {name}({marks})", every).fetchone()[0]

        return at

    for name in _CLOCKS:
        db.create_function(name, -1, still(name))
    for name, text in (("date", TODAY), ("time", "00:00:00"), ("timestamp", f"{TODAY} 00:00:00")):
        db.create_function(f"current_{name}", 0, lambda text=text: text)
