"""DuckDB over the ledger: `<table>` shows the current flow's rows, `<table>_all` every row ever
committed.
"""

import atexit
import re
import weakref
from collections.abc import Iterable, Sequence, Set
from threading import RLock
from typing import TYPE_CHECKING, Self

import duckdb
import pyarrow as pa

from synth.ledger.derived_views import DERIVED
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.manifest import ShardLine
from synth.ledger.memory_database import Catalog, opened, quoted
from synth.ledger.tables import TABLES
from synth.ledger.tables.evidence import HELD_BY, TYPED, former_rows
from synth.schemas import ConfigError

if TYPE_CHECKING:
    import polars as pl

NAMES = frozenset([*TABLES, *(f"{name}_all" for name in TABLES), *DERIVED])
_BY_TRAJECTORY = ("trajectories", "turns", "decisions")
"""Tables of which the rows of superseded attempts are hidden, and those of adopted ones shown."""
_FIRST_OF_TASK = (
    "SELECT * FROM ({rows}) QUALIFY row_number() OVER (PARTITION BY task_id "
    "ORDER BY stage, stage_key) = 1"
)
"""A task that several shards hold is shown once."""
_WORD = re.compile("[a-z_]+")
_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INTEGER",
}


class Views:
    """The views over one state of a ledger, in memory. A view is made when the first question names
    it.

    That is where local files are compared with their digests: those that a question reads. They lie
    in a database of their own where they are `apart`, and where files are read by a file system of
    their own.
    """

    def __init__(self, ledger: StoredLedger, *, apart: bool = False) -> None:
        state = ledger.state
        self.lines = state.lines
        self._storage, self._files = ledger.storage, ledger.files
        self._every, (self._whole, self._partly) = list(state.shards), state.visible()
        self._asked = state.asked()
        self._hides = bool(state.superseded)
        self._made: set[str] = set()
        self._making = RLock()
        self._catalog = opened() if apart or not ledger.storage.local else Catalog()
        self.database = self.cursor()
        if not ledger.storage.local:
            self.database.register_filesystem(ledger.storage.fs)
        for name, found in (("adopted", state.adopted()), ("superseded", state.superseded)):
            ids = pa.table({"id": pa.array(sorted(found), pa.string())})
            if found:
                self._keep(name, ids.schema, [ids])

    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """Another connection to them."""
        return self._catalog.cursor()

    def make(self, names: Set[str] = NAMES) -> None:
        """Makes these views, and those that they stand on, where they are not there yet. Raises
        `DamagedError`.
        """
        with self._making:
            for name in sorted(names):
                if name in self._made:
                    continue
                if name in DERIVED:
                    self.make(named(DERIVED[name]) - {name})
                self.database.execute(
                    DERIVED.get(name) or f"CREATE VIEW {name} AS {self._rows(name)}"
                )
                self._made.add(name)

    def _rows(self, name: str) -> str:
        """The question behind the view of one table: `<table>` or `<table>_all`."""
        table, whole = name.removesuffix("_all"), self._whole
        parts = [_empty(TABLES[table])]
        if name != table:
            whole = self._every
            parts += self._scan(table, whole)
        elif table in _BY_TRAJECTORY:
            hidden = ["trajectory_id NOT IN (FROM lineage.superseded)"] if self._hides else []
            adopted = [*hidden, "trajectory_id IN (FROM lineage.adopted)"]
            parts += self._scan(table, whole, hidden) + self._scan(table, self._partly, adopted)
        elif table == "replies":
            parts += self._scan(table, self._asked)
        else:
            parts += self._scan(table, [*whole, *self._partly] if table == "tasks" else whole)

        former = [shard.files["scores"] for shard in whole if "scores" in shard.files]
        if former and table in TYPED:
            kept = (former_rows(self._files.table(file), table) for file in former)
            self._keep(name, TABLES[table], kept)
            parts.append(f"FROM lineage.{name}")

        rows = " UNION ALL BY NAME ".join(parts)
        return rows if name != "tasks" else _FIRST_OF_TASK.format(rows=rows)

    def _scan(
        self, table: str, shards: Sequence[ShardLine], conditions: Sequence[str] = ()
    ) -> list[str]:
        """The rows of a table in the files of these shards; nothing where they have none."""
        names = HELD_BY if table == "scores" else (table,)
        files = [one.files[name] for one in shards for name in names if name in one.files]
        if not files:
            return []
        for file in files if self._storage.local else ():
            self._files.verify(file)
        columns = ", ".join(TABLES["scores"].names) if table == "scores" else "*"
        paths = ", ".join(quoted(self._storage.path(file.path)) for file in files)
        where = " AND ".join(["true", *conditions])
        scan = f"read_parquet([{paths}], union_by_name = true)"
        return [f"SELECT {columns} FROM {scan} WHERE {where}"]

    def _keep(self, name: str, schema: pa.Schema, parts: Iterable[pa.Table]) -> None:
        """Puts rows into a table that views stand on."""
        # SHOW TABLES lists what is asked about, so what views stand on has a schema of its own
        self.database.execute("CREATE SCHEMA IF NOT EXISTS lineage")
        self.database.execute(f"CREATE TABLE lineage.{name} AS {_empty(schema)}")
        for part in parts:
            self.database.register("_given", part)
            self.database.execute(f"INSERT INTO lineage.{name} BY NAME FROM _given")
            self.database.unregister("_given")


class LedgerConnection:
    """A connection of one's own to the views of a ledger; as DuckDB's, as far as it is needed
    here.
    """

    def __init__(self, views: Views) -> None:
        self._views = views
        self._cursor = views.cursor()

    def execute(self, sql: str, parameters: object = None) -> "duckdb.DuckDBPyConnection":
        """Asks a question; what it returns gives the rows. Raises `DamagedError` where a file of it
        has other bytes than were committed.
        """
        self._views.make(named(sql))
        return self._cursor.execute(sql, parameters)

    def frame(self, table: str, *, every: bool) -> "pl.LazyFrame":
        """The rows of a table, or those of `every` flow that ran here: read as the frame is
        collected, each time anew. Raises `ConfigError` for an unknown table, `DamagedError`.
        """
        if table not in TABLES:
            raise ConfigError(
                f"frame: there is no table {table!r}; known: {', '.join(TABLES)} (every=True also "
                "gives the rows of former flows; views such as spending are asked by sql)"
            )
        name = f"{table}_all" if every else table
        self._views.make({name})
        return self._cursor.table(name).pl(lazy=True)  # type: ignore[no-any-return]

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


_KEPT: "weakref.WeakKeyDictionary[StoredLedger, Views]" = weakref.WeakKeyDictionary()
_APART: "weakref.WeakKeyDictionary[StoredLedger, Views]" = weakref.WeakKeyDictionary()
_KEEPING = RLock()
# before the interpreter takes DuckDB's binding apart, which lists what is left as leaked
atexit.register(_KEPT.clear)
atexit.register(_APART.clear)


def connect(ledger: StoredLedger, *, apart: bool = False) -> LedgerConnection:
    """A connection with the views over a ledger as it stands now; they are kept until it grows.
    Frames are asked `apart`: they may be collected when the views are not kept any more.

    Everywhere DuckDB's types stand in quotes: Prefect's threads keep functions of ours beyond the
    end of the interpreter, their annotations would keep the types, and DuckDB's binding then lists
    each one as leaked.
    """
    with _KEEPING:
        kept = _APART if apart else _KEPT
        views = kept.get(ledger)
        if views is None or views.lines != ledger.state.lines:
            views = kept[ledger] = Views(ledger, apart=apart)
        return LedgerConnection(views)


def named(sql: str) -> frozenset[str]:
    """The views that a question may mean: all whose names are among its words."""
    return NAMES.intersection(_WORD.findall(sql.lower()))


def _empty(schema: pa.Schema) -> str:
    """The columns without a row: a table that has no shard yet is empty and typed."""
    columns = [f"NULL::{_type(field.type)} AS {field.name}" for field in schema]
    return f"SELECT {', '.join(columns)} WHERE false"


def _type(kind: pa.DataType) -> str:
    return f"{_TYPES[kind.value_type]}[]" if pa.types.is_list(kind) else _TYPES[kind]
