"""Shards that are written one after the other, some rows in memory at a time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from synth.ledger.storage.errors import access_error
from synth.schemas import ConfigError

_ROWS_PER_GROUP = 100  # held in memory at once; a trajectory is some 10 to 100 kB of text


@contextmanager
def writing(place: str) -> Iterator[None]:
    """Turns what the disk or the store refuses into one line for the user."""
    try:
        yield
    except (OSError, NotImplementedError) as error:
        refused = OSError(None, "nothing can be written there")
        reason = error if isinstance(error, OSError) else refused
        raise ConfigError(str(access_error(place, reason))) from error


class ShardSeries:
    """Files `<stem>-00000.parquet`, ... of at most so many rows each; without a schema,
    `.jsonl` with each row's `line`. `paths` are those begun so far. Raises `ConfigError` for what
    the disk refuses.
    """

    def __init__(self, stem: Path, schema: pa.Schema | None, most: int, place: str) -> None:
        self._stem, self._schema, self._most, self._place = stem, schema, most, place
        self._open: pq.ParquetWriter | TextIO | None = None
        self._rows, self._group = 0, list[Mapping[str, Any]]()
        self.paths = list[Path]()

    def take(self, row: Mapping[str, Any]) -> None:
        """One more row. A shard is begun only once there is a row for it."""
        if self._rows == self._most:
            self.end()
        if self._open is None:
            self._begin()
        self._group.append(row)
        self._rows += 1
        if len(self._group) == _ROWS_PER_GROUP:
            self._flush()

    def end(self) -> None:
        """Writes what is held, and ends the shard."""
        self._flush()
        self.close()
        self._rows = 0

    def close(self) -> None:
        """Closes what is open; rows that are held are given up."""
        ending, self._open = self._open, None
        self._group = []
        if ending is not None:
            with writing(self._place):
                ending.close()

    def _begin(self) -> None:
        suffix = "jsonl" if self._schema is None else "parquet"
        path = self._stem.with_name(f"{self._stem.name}-{len(self.paths):05d}.{suffix}")
        with writing(self._place):
            if self._schema is None:
                self._open = path.open("w", encoding="utf-8", newline="\n")
            else:
                self._open = pq.ParquetWriter(path, self._schema, compression="zstd")
        self.paths.append(path)

    def _flush(self) -> None:
        """JSON columns are built as text, because arrow cannot build its JSON type from Python
        values.
        """
        group, self._group = self._group, []
        if not group:
            return
        schema = self._schema
        if isinstance(self._open, pq.ParquetWriter) and schema is not None:
            stored = pa.schema([pa.field(field.name, _storage(field.type)) for field in schema])
            table = pa.Table.from_pylist(group, schema=stored).cast(schema)
            with writing(self._place):
                self._open.write_table(table.replace_schema_metadata(schema.metadata))
        elif self._open is not None:
            with writing(self._place):
                self._open.writelines(f"{row['line']}\n" for row in group)


def _storage(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind
