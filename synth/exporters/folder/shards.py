"""Parquet shards: written one after the other, named after what all of them hold."""

import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from synth.exporters.form import Form
from synth.ledger.storage.errors import access_error
from synth.ledger.storage.names import plain
from synth.schemas import ConfigError, SynthError, content_hash, digest

FOLDER = "traces"
_ROWS_PER_GROUP = 100  # held in memory at once; a trajectory is some 10 to 100 kB of text
_NAME = re.compile(r"train-[0-9a-f]{16}-\d{5}\.(?:parquet|jsonl)")
Records = Iterable[Mapping[str, Any]]


class ShardFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shard as it was written."""

    bytes: int
    digest: str

    @classmethod
    def of(cls, blob: builtins.bytes) -> "ShardFile":
        return cls(len(blob), digest(blob))


def is_shard(name: str) -> bool:
    """Whether a file has a shard's name."""
    return _NAME.fullmatch(name) is not None


def write_rows(
    folder: Path, records: Records, form: Form, rows_per_shard: int, place: str
) -> dict[str, ShardFile]:
    """Writes records in a form's layout: files of their own, or `train-<digest of all
    rows>-00000.parquet`, ... (`.jsonl` for lines); no shard where there is no record.

    `datasets` caches a folder under its last name and the names of the files that its card lists:
    two data sets whose files had the same names would be served each other's rows. `place` is what
    an error names: the folder that the user asked for.
    """
    if form.layout == "files":
        return write_row_files(folder, records, place)

    schema, remaining, unnamed = form.schema(), iter(records), list[Path]()
    most = sys.maxsize if form.layout == "one_shard" else rows_per_shard
    suffix = "jsonl" if schema is None else "parquet"

    # a shard is begun only once there is a row for it
    while (first := next(remaining, None)) is not None:
        path = folder / f"train-{len(unnamed):05d}.{suffix}"
        rows = chain([first], islice(remaining, most - 1))

        if schema is None:
            with writing(place), path.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{row['line']}\n" for row in rows)
        else:
            _write(path, rows, schema, place)

        unnamed.append(path)

    files = [ShardFile.of(path.read_bytes()) for path in unnamed]
    # named after all rows, so that no cache gives one dataset for another
    whole = content_hash([file.digest for file in files], size=8)
    named = {f"train-{whole}-{number:05d}.{suffix}": file for number, file in enumerate(files)}
    for path, name in zip(unnamed, named, strict=True):
        path.rename(folder / name)

    return named


def write_row_files(folder: Path, records: Records, place: str) -> dict[str, ShardFile]:
    """Writes each record's `text` to `traces/<its name>`, for consumers that open one trace at a
    time.
    """
    files: dict[str, ShardFile] = {}

    for record in records:
        if not plain(record["name"]):
            raise SynthError(
                f"{place}: a file cannot be called {record['name'][:80]!r}: an id of this run "
                "leads elsewhere; import the run"
            )

        name, blob = f"{FOLDER}/{record['name']}", record["text"].encode()

        with writing(place):
            (folder / FOLDER).mkdir(exist_ok=True)
            (folder / name).write_bytes(blob)

        files[name] = ShardFile.of(blob)

    return files


@contextmanager
def writing(place: str) -> Iterator[None]:
    """Turns what the disk or the store refuses into one line for the user."""
    try:
        yield
    except (OSError, NotImplementedError) as error:
        refused = OSError(None, "nothing can be written there")
        reason = error if isinstance(error, OSError) else refused
        raise ConfigError(str(access_error(place, reason))) from error


def _write(path: Path, rows: Iterator[Mapping[str, Any]], schema: pa.Schema, place: str) -> None:
    """JSON columns are built as text, because arrow cannot build its JSON type from Python
    values.
    """
    stored = pa.schema([pa.field(field.name, _storage(field.type)) for field in schema])
    with writing(place):
        writer = pq.ParquetWriter(path, schema, compression="zstd")

    try:
        while group := list(islice(rows, _ROWS_PER_GROUP)):
            table = pa.Table.from_pylist(group, schema=stored).cast(schema)
            with writing(place):
                writer.write_table(table.replace_schema_metadata(schema.metadata))
    finally:
        with writing(place):
            writer.close()


def _storage(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind
