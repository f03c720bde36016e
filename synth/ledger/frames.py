"""Tables of a ledger as polars frames, the same rows as in SQL: nothing is read but digests until a
frame is collected.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from polars.io.plugins import register_io_source

from synth.ledger.evidence import MIGRATED
from synth.ledger.ledger import Ledger
from synth.ledger.manifest import StoredFile
from synth.ledger.shown import ObservedPrompt, files_of, former_files, shown
from synth.ledger.tables import TABLES
from synth.ledger.views import relation
from synth.schemas.errors import ConfigError


def frame(ledger: Ledger, table: str, *, every: bool = False) -> pl.LazyFrame:
    """A table's rows of the current flow, or of `every` flow that ran here.

    Local files are compared with their digests first. polars then reads them a row group at a time,
    and of these only
    what a query needs. Raises `ConfigError` for an unknown table, `DamagedError`.
    """
    if table not in TABLES:
        raise ConfigError(
            f"frame: there is no table {table!r}; known: {', '.join(TABLES)} (every=True also "
            "gives the rows of "
            "former flows; views such as spending are asked by sql)"
        )
    state = ledger.state
    if table in MIGRATED and former_files(state.shards):
        migrated: pl.DataFrame = relation(ledger, f"FROM {table}{'_all' if every else ''}").pl()
        return migrated.select(_schema(table).names()).lazy()
    if every:
        parts = [ObservedPrompt(found)] if (found := files_of(table, state.shards)) else []
    else:
        parts = shown(table, *state.visible(), hides=bool(state.superseded))
    frames = [_part(ledger, table, part) for part in parts]
    rows = pl.concat(frames) if frames else pl.LazyFrame(schema=_schema(table))
    if table == "tasks" and not every and sum(len(part.files) for part in parts) > 1:
        rows = rows.sort("stage", "stage_key").unique("task_id", keep="first", maintain_order=True)
    return rows


def _part(ledger: Ledger, table: str, part: ObservedPrompt) -> pl.LazyFrame:
    rows = _scan(ledger, table, part.files)
    if part.adopted_only:
        rows = rows.filter(pl.col("trajectory_id").is_in(sorted(ledger.state.adopted())))
    if part.hides:
        rows = rows.filter(~pl.col("trajectory_id").is_in(sorted(ledger.state.superseded)))
    return rows


def _scan(ledger: Ledger, table: str, files: Sequence[StoredFile]) -> pl.LazyFrame:
    schema, storage = _schema(table), ledger.storage
    if not storage.local:  # polars knows fewer kinds of storage than fsspec
        return register_io_source(partial(_batches, ledger, table, tuple(files)), schema=schema)
    for file in files:
        ledger.files.verify(file)
    return pl.scan_parquet(
        [storage.path(file.path) for file in files],
        schema=schema,
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
        hive_partitioning=False,
    )


def _batches(
    ledger: Ledger,
    table: str,
    files: Sequence[StoredFile],
    columns: list[str] | None,
    wanted: pl.Expr | None,
    most: int | None,
    batch_size: int | None,
) -> Iterator[pl.DataFrame]:
    """The files' row groups, one in memory at a time, for storage that only fsspec reads."""
    schema = _schema(table)
    names = list(schema) if columns is None else columns
    for file in files:
        opened = pq.ParquetFile(pa.BufferReader(ledger.files.read(file)))
        for group in range(opened.num_row_groups):
            held = [name for name in names if name in opened.schema_arrow.names]
            rows = pl.from_arrow(opened.read_row_group(group, columns=held))
            assert isinstance(rows, pl.DataFrame)
            absent = [pl.lit(None, schema[name]).alias(name) for name in names if name not in held]
            rows = rows.with_columns(absent).select(names)
            if wanted is not None:
                rows = rows.filter(wanted)
            if most is not None:
                rows, most = rows.head(most), most - min(most, rows.height)
            yield rows
            if most == 0:
                return


def _schema(table: str) -> pl.Schema:
    empty = pl.from_arrow(TABLES[table].empty_table())
    assert isinstance(empty, pl.DataFrame)
    return empty.schema
