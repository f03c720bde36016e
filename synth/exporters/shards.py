"""Parquet shards: written one after the other, named after what all of them hold."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from synth.ledger.storage import write_error
from synth.schemas.canonical import content_hash, digest
from synth.schemas.errors import ConfigError

_ROWS_PER_GROUP = 100  # held in memory at once; a trajectory is some 10 to 100 kB of text
_NAME = re.compile(r"train-[0-9a-f]{16}-\d{5}\.(?:parquet|jsonl)")


class ShardFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shard as it was written."""

    bytes: int
    digest: str


def is_shard(name: str) -> bool:
    """Whether a file has a shard's name."""
    return _NAME.fullmatch(name) is not None


def write_shards(
    folder: Path,
    records: Iterable[Mapping[str, Any]],
    schema: pa.Schema,
    rows_per_shard: int,
    place: str,
) -> dict[str, ShardFile]:
    """Writes records (JSON columns as text) to `train-<digest of all rows>-00000.parquet`, ...; no
    shard where there is no record.

    `datasets` caches a folder under its last name and the names of the files that its card lists:
    two data sets whose files had the same
    names would be served each other's rows. `place` is what an error names: the folder that the
    user asked for.
    """
    return _sharded(
        folder,
        records,
        rows_per_shard,
        "parquet",
        lambda path, rows: _write(path, rows, schema, place),
    )


def write_lines(
    folder: Path, records: Iterable[Mapping[str, Any]], rows_per_shard: int, place: str
) -> dict[str, ShardFile]:
    """The same with each record's `line` as a line of `train-<digest>-00000.jsonl`, ..."""

    def write(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
        with writing(place), path.open("w", encoding="utf-8", newline="\n") as file:
            for row in rows:
                file.write(row["line"] + "\n")

    return _sharded(folder, records, rows_per_shard, "jsonl", write)


def _sharded(
    folder: Path,
    records: Iterable[Mapping[str, Any]],
    rows_per_shard: int,
    suffix: str,
    write: Callable[[Path, Iterator[Mapping[str, Any]]], None],
) -> dict[str, ShardFile]:
    remaining = iter(records)
    unnamed: list[Path] = []
    while (first := next(remaining, None)) is not None:
        path = folder / f"train-{len(unnamed):05d}.{suffix}"
        write(path, chain([first], islice(remaining, rows_per_shard - 1)))
        unnamed.append(path)
    files = [ShardFile(path.stat().st_size, digest(path.read_bytes())) for path in unnamed]
    whole = content_hash([file.digest for file in files], size=8)
    named = {f"train-{whole}-{number:05d}.{suffix}": file for number, file in enumerate(files)}
    for path, name in zip(unnamed, named, strict=True):
        path.rename(folder / name)
    return named


@contextmanager
def writing(place: str) -> Iterator[None]:
    """Turns what the disk or the store refuses into one line for the user."""
    try:
        yield
    except (OSError, NotImplementedError) as error:
        reason = (
            error if isinstance(error, OSError) else OSError(None, "nothing can be written there")
        )
        raise ConfigError(str(write_error(place, reason))) from error


def _write(path: Path, rows: Iterator[Mapping[str, Any]], schema: pa.Schema, place: str) -> None:
    with writing(place):
        writer = pq.ParquetWriter(path, schema, compression="zstd")
    try:
        while group := list(islice(rows, _ROWS_PER_GROUP)):
            with writing(place):
                writer.write_table(_table(group, schema))
    finally:
        with writing(place):
            writer.close()


def _table(rows: list[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; JSON columns are built as text, because arrow cannot build its JSON type
    from Python values.
    """
    stored = pa.schema([pa.field(field.name, _storage(field.type)) for field in schema])
    return (
        pa.Table.from_pylist(rows, schema=stored)
        .cast(schema)
        .replace_schema_metadata(schema.metadata)
    )


def _storage(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind
