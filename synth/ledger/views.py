"""DuckDB over the ledger: `<table>` shows the current flow's rows, `<table>_all` every row ever committed."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from schemas.errors import ConfigError
from synth.ledger.ledger import Ledger
from synth.ledger.manifest import ShardLine, StoredFile
from synth.ledger.tables import TABLES

_BY_TRAJECTORY = {"trajectories", "turns", "decisions"}


def connect(ledger: Ledger) -> duckdb.DuckDBPyConnection:
    """An in-memory connection with the views; local files are compared with their digests first. Raises `DamagedError`."""
    connection = duckdb.connect(":memory:")
    if not ledger.storage.local:
        connection.register_filesystem(ledger.storage.fs)
    whole, partly = ledger.state.visible()
    connection.register("_hidden", pa.table({"id": pa.array(sorted(ledger.state.superseded), pa.string())}))
    connection.register("_adopted", pa.table({"id": pa.array(sorted(ledger.state.adopted()), pa.string())}))
    for name, schema in TABLES.items():
        connection.register(f"_empty_{name}", schema.empty_table())
        adopted = " WHERE trajectory_id IN (SELECT id FROM _adopted)" if name in _BY_TRAJECTORY else ""
        hidden = " WHERE trajectory_id NOT IN (SELECT id FROM _hidden)" if name in _BY_TRAJECTORY and ledger.state.superseded else ""
        parts = [f"SELECT * FROM _empty_{name}"]
        parts += [_scan(ledger, name, whole) + hidden] if _files(name, whole) else []
        parts += [_scan(ledger, name, partly) + adopted] if _files(name, partly) and (adopted or name == "tasks") else []
        every = ledger.state.shards
        parts_all = [f"SELECT * FROM _empty_{name}"] + ([_scan(ledger, name, every)] if _files(name, every) else [])
        connection.execute(f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(parts)}")
        connection.execute(f"CREATE VIEW {name}_all AS {' UNION ALL BY NAME '.join(parts_all)}")
    return connection


def query(ledger: Ledger, sql: str) -> duckdb.DuckDBPyConnection:
    """Runs a query over the views; fetch from what it returns. Raises `ConfigError` with DuckDB's first line."""
    try:
        return connect(ledger).execute(sql)
    except duckdb.Error as error:
        raise ConfigError(f"sql: {str(error).splitlines()[0]}; tables: {', '.join(TABLES)}, each also as <table>_all") from error


def _files(name: str, shards: Sequence[ShardLine]) -> list[StoredFile]:
    return [shard.files[name] for shard in shards if name in shard.files]


def _scan(ledger: Ledger, name: str, shards: Sequence[ShardLine]) -> str:
    files = _files(name, shards)
    if ledger.storage.local:
        for file in files:
            ledger.verify(file)
    paths = ", ".join("'" + ledger.storage.path(file.path).replace("'", "''") + "'" for file in files)
    return f"SELECT * FROM read_parquet([{paths}], union_by_name = true)"
