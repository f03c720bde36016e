"""Shards of rows: named after what all of them hold, and after the part that each holds."""

import builtins
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.folder.series import ShardSeries, writing
from synth.exporters.form import Form
from synth.ledger.storage.names import plain
from synth.schemas import SynthError, content_hash, digest

FOLDER = "traces"
_NAME = re.compile(r"train-(?:([a-z]+)-)?[0-9a-f]{16}-\d{5}\.(?:parquet|jsonl)")
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


def part_of(name: str) -> str | None:
    """Of which part a shard holds rows; None where its form has none."""
    found = _NAME.fullmatch(name)
    return None if found is None else found[1]


def write_rows(
    folder: Path, records: Records, form: Form, rows_per_shard: int, place: str
) -> dict[str, ShardFile]:
    """Writes records in a form's layout: files of their own, or `train-<digest of all
    rows>-00000.parquet`, ... (`.jsonl` for lines); no shard where there is no record. Where the
    form has parts, `train-<part>-<digest of all rows>-00000.parquet`: each holds rows of one.

    `datasets` caches a folder under its last name and the names of the files that its card lists:
    two data sets whose files had the same names would be served each other's rows. `place` is what
    an error names: the folder that the user asked for.
    """
    if form.layout == "files":
        return write_row_files(folder, records, place)

    most = sys.maxsize if form.layout == "one_shard" else rows_per_shard
    parts, schema = dict[str, ShardSeries](), form.schema()
    try:
        for row in records:
            of = row[form.parted_by] if form.parted_by else None
            name = "train" if of is None else f"train-{of}"
            if name not in parts:
                parts[name] = ShardSeries(folder / name, schema, most, place)
            parts[name].take(row)
        for part in parts.values():
            part.end()
    finally:
        for part in parts.values():
            part.close()

    return _named({name: part.paths for name, part in sorted(parts.items())})


def _named(parts: Mapping[str, Sequence[Path]]) -> dict[str, ShardFile]:
    """Renames the files of each part after all rows, so that no cache gives one dataset for
    another.
    """
    files = {
        (name, number, path): ShardFile.of(path.read_bytes())
        for name, paths in parts.items()
        for number, path in enumerate(paths)
    }
    whole = content_hash([file.digest for file in files.values()], size=8)
    named = dict[str, ShardFile]()
    for (name, number, path), file in files.items():
        shard = f"{name}-{whole}-{number:05d}{path.suffix}"
        path.rename(path.with_name(shard))
        named[shard] = file

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
