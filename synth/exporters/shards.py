"""A data set folder: parquet shards, card and manifest, written aside and put in place at once."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.canonical import digest
from schemas.errors import ConfigError

_MANIFEST = "manifest.json"
_WRITTEN_BY = "synth"
_ROWS_PER_GROUP = 100  # held in memory at once; a trajectory is some 10 to 100 kB of text


class _Manifest(msgspec.Struct):
    written_by: str
    files: dict[str, str]


class DatasetFolder:
    """Used as a context manager: what was not committed leaves nothing behind.

    Raises `ConfigError` where the folder exists and was not written by this class, or holds something else and is not to be overwritten.
    """

    def __init__(self, out: Path, *, overwrite: bool = False) -> None:
        self._out = out
        self._overwrite = overwrite
        self._aside = out.parent / f".{out.name}.partial-{os.getpid()}"
        self._written_before = _files_of(out)

    def __enter__(self) -> "DatasetFolder":
        shutil.rmtree(self._aside, ignore_errors=True)
        self._aside.mkdir(parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self._aside, ignore_errors=True)

    def write_shards(self, records: Iterable[Mapping[str, Any]], schema: pa.Schema, rows_per_shard: int) -> None:
        """Writes records (JSON columns as text) to `train-00000.parquet`, ...; a data set without rows is one shard without rows."""
        remaining = iter(records)
        number = 0
        while (first := next(remaining, None)) is not None or number == 0:
            rows = iter(()) if first is None else chain([first], islice(remaining, rows_per_shard - 1))
            with pq.ParquetWriter(self._aside / f"train-{number:05d}.parquet", schema, compression="zstd") as writer:
                for group in _groups(rows):
                    writer.write_table(_table(group, schema))
            number += 1

    def write_text(self, name: str, text: str) -> None:
        """Adds a text file."""
        (self._aside / name).write_text(text, encoding="utf-8")

    def commit(self, manifest: Mapping[str, Any]) -> tuple[Path, ...]:
        """Puts the folder in its place and returns its files; the same content again changes nothing."""
        names = sorted(path.name for path in self._aside.iterdir())
        files = {name: digest((self._aside / name).read_bytes()) for name in names}
        described = msgspec.json.encode({"written_by": _WRITTEN_BY, **manifest, "files": files})
        (self._aside / _MANIFEST).write_bytes(msgspec.json.format(described) + b"\n")
        if self._written_before is None:
            self._aside.replace(self._out)
        elif self._written_before != files:
            if not self._overwrite:
                raise ConfigError(f"{self._out} holds another data set; choose another folder, or set overwrite: true")
            old = self._out.parent / f".{self._out.name}.old-{os.getpid()}"
            self._out.replace(old)
            self._aside.replace(self._out)
            shutil.rmtree(old)
        return tuple(self._out / name for name in [*names, _MANIFEST])


def _files_of(out: Path) -> dict[str, str] | None:
    """Digests of the files of a data set that stands here, or None where there is nothing. Raises `ConfigError` for what is not ours."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    try:
        manifest = msgspec.json.decode((out / _MANIFEST).read_bytes(), type=_Manifest)
        names = {path.name for path in out.iterdir()} - {_MANIFEST}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{out} exists and is no data set written by synth; choose another folder") from error
    if manifest.written_by != _WRITTEN_BY or not names <= set(manifest.files):
        raise ConfigError(f"{out} holds files that synth did not write; choose another folder")
    return {name: digest((out / name).read_bytes()) for name in sorted(names)}


def _groups(rows: Iterator[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    while group := list(islice(rows, _ROWS_PER_GROUP)):
        yield group


def _table(rows: list[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; JSON columns are built as text, because arrow cannot build its JSON type from Python values."""
    stored = pa.schema([pa.field(field.name, _storage(field.type)) for field in schema])
    return pa.Table.from_pylist(rows, schema=stored).cast(schema).replace_schema_metadata(schema.metadata)


def _storage(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind
