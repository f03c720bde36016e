"""DuckDB over the ledger: `<table>` shows the current flow's rows, `<table>_all` every row ever
committed.
"""

import atexit
import re
import tempfile
import uuid
import weakref
from collections.abc import Collection, Sequence, Set
from pathlib import Path
from threading import RLock
from typing import Self

import duckdb
import pyarrow as pa

from synth.ledger.evidence import MIGRATED
from synth.ledger.groups import GROUPS
from synth.ledger.ledger import Ledger
from synth.ledger.manifest import ShardLine, StoredFile
from synth.ledger.question import answered, one_question
from synth.ledger.repairs import REPAIRS
from synth.ledger.shown import ObservedPrompt, files_of, former_files, shown
from synth.ledger.spending import SPENDING
from synth.ledger.tables import TABLES

_DERIVED = {"spending": SPENDING, "groups": GROUPS, "repairs": REPAIRS}
_NAMES = frozenset([*TABLES, *(f"{name}_all" for name in TABLES), *_DERIVED])
_WORD = re.compile("[a-z_]+")


class Views:
    """A database in memory with the views over one state of a ledger. A view is made when the first
    question names it.

    That is where local files are compared with their digests: those that a question reads.
    """

    def __init__(self, ledger: Ledger) -> None:
        state = ledger.state
        self.lines = state.lines
        self._storage, self._shard_files = ledger.storage, ledger.files
        self._every, (self._whole, self._partly) = tuple(state.shards), state.visible()
        self._made: set[str] = set()
        self._making = RLock()
        self.database = duckdb.connect(":memory:")
        spill = Path(tempfile.gettempdir(), f"synth-duckdb-{uuid.uuid4().hex}")
        self.database.execute(f"SET temp_directory = {_quoted(str(spill))}")
        self.database.execute(
            "SET enable_progress_bar = false"
        )  # it would be written into the answer, pipe or not
        if not ledger.storage.local:
            self.database.register_filesystem(ledger.storage.fs)
        self._hides = bool(state.superseded)
        _identities(self.database, "adopted", state.adopted())
        _identities(self.database, "superseded", state.superseded)

    def make(self, names: Set[str] = _NAMES) -> None:
        """Makes these views, and those that they stand on, where they are not there yet. Raises
        `DamagedError`.
        """
        with self._making:
            for name in sorted(names):
                if name not in self._made:
                    if name in _DERIVED:
                        self.make(_named(_DERIVED[name]) - {name})
                    self.database.execute(
                        _DERIVED.get(name) or f"CREATE VIEW {name} AS {self._rows(name)}"
                    )
                    self._made.add(name)

    def _rows(self, name: str) -> str:
        """The question behind the view of one table: `<table>` or `<table>_all`."""
        table = name.removesuffix("_all")
        if name != table:
            every = [self._scan(files, table)] if (files := files_of(table, self._every)) else []
            every += self._migrated(table, self._every)
            return " UNION ALL BY NAME ".join([_empty(TABLES[table]), *every])
        found = shown(name, self._whole, self._partly, hides=self._hides)
        parts = [self._part(part, name) for part in found] + self._migrated(name, self._whole)
        rows = " UNION ALL BY NAME ".join([_empty(TABLES[name]), *parts])
        if name == "tasks" and sum(len(part.files) for part in found) > 1:
            rows = (
                f"SELECT * FROM ({rows}) QUALIFY row_number() OVER (PARTITION BY task_id "
                "ORDER BY stage, stage_key) = 1"
            )
        return rows

    def _migrated(self, table: str, shards: Sequence[ShardLine]) -> list[str]:
        """A typed table's rows out of the table `scores` that earlier versions wrote."""
        files = former_files(shards) if table in MIGRATED else ()
        return [MIGRATED[table].replace("{rows}", self._scan(files, "scores"))] if files else []

    def _part(self, part: ObservedPrompt, table: str) -> str:
        rows = self._scan(part.files, table)
        if part.adopted_only:
            rows = f"SELECT * FROM ({rows}) WHERE trajectory_id IN (FROM lineage.adopted)"
        return (
            f"SELECT * FROM ({rows}) WHERE trajectory_id NOT IN (FROM lineage.superseded)"
            if part.hides
            else rows
        )

    def _scan(self, files: Sequence[StoredFile], table: str) -> str:
        if self._storage.local:
            for file in files:
                self._shard_files.verify(file)
        paths = ", ".join(_quoted(self._storage.path(file.path)) for file in files)
        columns = ", ".join(TABLES["scores"].names) if table == "scores" else "*"
        return f"SELECT {columns} FROM read_parquet([{paths}], union_by_name = true)"


class LedgerConnection:
    """A connection of one's own to the views of a ledger; as DuckDB's, as far as it is needed
    here.
    """

    def __init__(self, views: Views) -> None:
        self._views = views
        self._cursor = views.database.cursor()

    def execute(self, sql: str, parameters: object = None) -> "duckdb.DuckDBPyConnection":
        """Asks a question; what it returns gives the rows. Raises `DamagedError` where a file of it
        has other bytes than were committed.
        """
        self._views.make(_named(sql))
        return self._cursor.execute(sql, parameters)

    def cursor(self) -> "LedgerConnection":
        """Another connection to the same views, for a question while this one's rows are still
        read.
        """
        return LedgerConnection(self._views)

    def register(self, name: str, table: pa.Table) -> None:
        """Makes a table of the caller's known to this connection."""
        self._cursor.register(name, table)

    def close(self) -> None:
        """Ends what is still asked."""
        self._cursor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


_KEPT: "weakref.WeakKeyDictionary[Ledger, Views]" = weakref.WeakKeyDictionary()
_KEEPING = RLock()
atexit.register(
    _KEPT.clear
)  # before the interpreter takes DuckDB's binding apart, which lists what is left as leaked


def connect(ledger: Ledger) -> LedgerConnection:
    """A connection with the views over a ledger as it stands now; they are kept until it grows.

    Everywhere DuckDB's types stand in quotes: Prefect's threads keep functions of ours beyond the
    end of the interpreter, their
    annotations would keep the types, and DuckDB's binding then lists each one as leaked.
    """
    with _KEEPING:
        views = _KEPT.get(ledger)
        if views is None or views.lines != ledger.state.lines:
            views = _KEPT[ledger] = Views(ledger)
        return LedgerConnection(views)


def query(ledger: Ledger, sql: str) -> "duckdb.DuckDBPyConnection":
    """Asks one question over the views; what it returns gives the rows. Raises `ConfigError` for
    what is no question, `DamagedError`.

    The connection reads this run's files and nothing else.
    """
    connection = _reading_only(ledger)
    return answered(connection, lambda: connection.execute(one_question(connection, sql)))


def relation(ledger: Ledger, sql: str) -> "duckdb.DuckDBPyRelation":
    """The same as a relation, whose rows are computed as they are fetched: `.pl()`, `.df()`,
    `.arrow()`, `.fetchall()`.
    """
    connection = _reading_only(ledger)
    return answered(connection, lambda: connection.sql(one_question(connection, sql)))


def _reading_only(ledger: Ledger) -> "duckdb.DuckDBPyConnection":
    """A database of its own over all views, which reads this run's files, writes none, and cannot
    be told otherwise.
    """
    views = Views(ledger)
    views.make()
    connection = views.database
    paths = sorted(
        {
            ledger.storage.path(file.path)
            for shard in ledger.state.shards
            for file in shard.files.values()
        }
    )
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quoted, paths))}]")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _named(sql: str) -> frozenset[str]:
    """The views that a question may mean: all whose names are among its words."""
    return _NAMES.intersection(_WORD.findall(sql.lower()))


def _identities(
    connection: "duckdb.DuckDBPyConnection", name: str, identities: Collection[str]
) -> None:
    """A list of ids that the views stand on, in a schema of its own: SHOW TABLES lists what is
    asked about.
    """
    if not identities:
        return
    connection.execute("CREATE SCHEMA IF NOT EXISTS lineage")
    connection.register("_identities", pa.table({"id": pa.array(sorted(identities), pa.string())}))
    connection.execute(f"CREATE TABLE lineage.{name} AS FROM _identities")
    connection.unregister("_identities")


_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INTEGER",
}


def _empty(schema: pa.Schema) -> str:
    """The columns without a row: a table that has no shard yet is empty and typed."""
    columns = [f"NULL::{_type(field.type)} AS {field.name}" for field in schema]
    return f"SELECT {', '.join(columns)} WHERE false"


def _type(kind: pa.DataType) -> str:
    return f"{_TYPES[kind.value_type]}[]" if pa.types.is_list(kind) else _TYPES[kind]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
