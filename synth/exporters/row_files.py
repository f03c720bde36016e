"""Rows in files of their own, for consumers that open one trace at a time."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from synth.exporters.shards import ShardFile, writing
from synth.ledger.inside import plain
from synth.schemas.canonical import digest
from synth.schemas.errors import SynthError

FOLDER = "traces"


def write_row_files(
    folder: Path, records: Iterable[Mapping[str, Any]], place: str
) -> dict[str, ShardFile]:
    """Writes each record's `text` to `traces/<its name>`; `place` is what an error names."""
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
        files[name] = ShardFile(len(blob), digest(blob))
    return files
