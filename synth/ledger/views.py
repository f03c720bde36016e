"""DuckDB over the ledger: `<table>` shows the current flow's rows, `<table>_all` every row ever committed."""

import tempfile
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from synth.ledger.groups import GROUPS
from synth.ledger.ledger import Ledger
from synth.ledger.manifest import ShardLine, StoredFile
from synth.ledger.question import answered, one_question
from synth.ledger.repairs import REPAIRS
from synth.ledger.spending import SPENDING
from synth.ledger.tables import TABLES

_BY_TRAJECTORY = {"trajectories", "turns", "decisions"}


def connect(ledger: Ledger) -> "duckdb.DuckDBPyConnection":
    """An in-memory connection with the views; local files are compared with their digests first. Raises `DamagedError`.

    Everywhere this type stands in quotes: Prefect's threads keep functions of ours beyond the end of the interpreter, their annotations
    would keep DuckDB's types, and its binding then lists each one as leaked.
    """
    connection = duckdb.connect(":memory:")
    spill = Path(tempfile.gettempdir(), f"synth-duckdb-{uuid.uuid4().hex}")
    connection.execute(f"SET temp_directory = {_quoted(str(spill))}")
    connection.execute("SET enable_progress_bar = false")  # it would be written into the answer, pipe or not
    if not ledger.storage.local:
        connection.register_filesystem(ledger.storage.fs)
    _identities(connection, "adopted", ledger.state.adopted())
    _identities(connection, "superseded", ledger.state.superseded)
    whole, partly = ledger.state.visible()
    for name, schema in TABLES.items():
        hidden = " WHERE trajectory_id NOT IN (FROM lineage.superseded)" if name in _BY_TRAJECTORY and ledger.state.superseded else ""
        parts = [_scan(ledger, name, whole) + hidden] if _files(name, whole) else []
        if _files(name, partly) and name in _BY_TRAJECTORY:
            adopted = f"SELECT * FROM ({_scan(ledger, name, partly)}) WHERE trajectory_id IN (FROM lineage.adopted)"
            parts.append(f"SELECT * FROM ({adopted}){hidden}")
        elif _files(name, partly) and name == "tasks":
            parts.append(_scan(ledger, name, partly))
        every = [_scan(ledger, name, ledger.state.shards)] if _files(name, ledger.state.shards) else []
        rows = " UNION ALL BY NAME ".join([_empty(schema), *parts])
        if name == "tasks" and len(_files(name, [*whole, *partly])) > 1:
            rows = f"SELECT * FROM ({rows}) QUALIFY row_number() OVER (PARTITION BY task_id ORDER BY stage, stage_key) = 1"
        connection.execute(f"CREATE VIEW {name} AS {rows}")
        connection.execute(f"CREATE VIEW {name}_all AS {' UNION ALL BY NAME '.join([_empty(schema), *every])}")
    for view in (SPENDING, GROUPS, REPAIRS):
        connection.execute(view)
    return connection


def query(ledger: Ledger, sql: str) -> "duckdb.DuckDBPyConnection":
    """Asks one question over the views; what it returns gives the rows. Raises `ConfigError` for what is no question.

    The connection reads this run's files and nothing else.
    """
    connection = connect(ledger)
    paths = sorted({ledger.storage.path(file.path) for shard in ledger.state.shards for file in shard.files.values()})
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quoted, paths))}]")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return answered(connection, lambda: connection.execute(one_question(connection, sql)))


def _identities(connection: "duckdb.DuckDBPyConnection", name: str, identities: Collection[str]) -> None:
    """A list of ids that the views stand on, in a schema of its own: SHOW TABLES lists what is asked about."""
    if not identities:
        return
    connection.execute("CREATE SCHEMA IF NOT EXISTS lineage")
    connection.register("_identities", pa.table({"id": pa.array(sorted(identities), pa.string())}))
    connection.execute(f"CREATE TABLE lineage.{name} AS FROM _identities")
    connection.unregister("_identities")


_TYPES = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN", pa.int32(): "INTEGER"}


def _empty(schema: pa.Schema) -> str:
    """The columns without a row: a table that has no shard yet is empty and typed."""
    columns = [f"NULL::{_type(field.type)} AS {field.name}" for field in schema]
    return f"SELECT {', '.join(columns)} WHERE false"


def _type(kind: pa.DataType) -> str:
    return f"{_TYPES[kind.value_type]}[]" if pa.types.is_list(kind) else _TYPES[kind]


def _files(name: str, shards: Sequence[ShardLine]) -> list[StoredFile]:
    return [shard.files[name] for shard in shards if name in shard.files]


def _scan(ledger: Ledger, name: str, shards: Sequence[ShardLine]) -> str:
    files = _files(name, shards)
    if ledger.storage.local:
        for file in files:
            ledger.files.verify(file)
    return f"SELECT * FROM read_parquet([{', '.join(_quoted(ledger.storage.path(file.path)) for file in files)}], union_by_name = true)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
