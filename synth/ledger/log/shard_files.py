"""Parquet files of shards: written under names of their own, read only where their bytes are those
that were written.
"""

import io
import uuid
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from synth.ledger.log.manifest import StoredFile
from synth.ledger.storage import Storage
from synth.ledger.tables import COMMIT_ORDER
from synth.schemas import DamagedError, SynthError, digest


class ShardFiles:
    """The shard files of one run; each is compared with its digest once."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._verified: set[str] = set()
        self._listed: dict[str, frozenset[str]] = {}

    def missing(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of these files that are gone: path in the run -> whole path.

        For a run that is opened: in object storage each folder is listed once, a thousand names to
        a request, and what that listing lacks is looked for by name.
        """
        gone = (one for one in paths if not self._shown(one) and self._storage.size(one) is None)
        return {path: self._storage.path(path) for path in gone}

    def _shown(self, path: str) -> bool:
        if self._storage.local:
            return False
        folder, _, name = path.rpartition("/")
        if folder not in self._listed:
            self._listed[folder] = frozenset(self._storage.names(folder))
        return name in self._listed[folder]

    def write(self, tables: Mapping[str, pa.Table]) -> dict[str, StoredFile]:
        """One file per table; they are part of nothing until a manifest line names them."""
        nonce = uuid.uuid4().hex
        files = {}
        for name in COMMIT_ORDER:
            if name not in tables:
                continue
            buffer = io.BytesIO()
            pq.write_table(
                tables[name], buffer, compression="zstd", compression_level=1, row_group_size=20_000
            )
            blob = buffer.getvalue()
            path = f"{name}/{nonce}.parquet"
            if not self._storage.create(path, blob):
                raise SynthError(
                    f"{self._storage.path(path)}: exists already under a name drawn at random; "
                    "run again"
                )
            files[name] = StoredFile(path, tables[name].num_rows, len(blob), digest(blob))
        return files

    def table(self, file: StoredFile, columns: list[str] | None = None) -> pa.Table:
        """One file's rows, with all or some of its columns. Raises `DamagedError`."""
        # a data set of one file, as `read_table` makes it, takes longer than its few hundred rows
        rows = pq.ParquetFile(pa.BufferReader(self.read(file)))
        return rows.read(columns=columns, use_threads=False)

    def verify(self, file: StoredFile) -> None:
        """Compares a file with its digest, unless that was done. Raises `DamagedError`."""
        if file.path not in self._verified:
            self.read(file)

    def read(self, file: StoredFile) -> bytes:
        """A committed file's bytes. Raises `DamagedError` where they differ from those that were
        written.
        """
        path = self._storage.path(file.path)
        try:
            blob = self._storage.read(file.path)
        except FileNotFoundError as error:
            raise DamagedError(
                f"{path}: missing; restore it from a backup, or run the flow again"
            ) from error
        if file.path not in self._verified and digest(blob) != file.digest:
            raise DamagedError(
                f"{path}: damaged (its bytes are not those that were committed); every other "
                "shard is intact: restore it from a backup, or delete it and run the flow again "
                "to redo its episodes"
            )
        self._verified.add(file.path)
        return blob
