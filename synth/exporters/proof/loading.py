"""Whether a loader gives back the rows that were written, in their order, to the last value."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from synth.exporters.json_columns import plain_text, text
from synth.exporters.kind import Form
from synth.exporters.proof.findings import ProofIssues
from synth.exporters.row_files import FOLDER
from synth.schemas.canonical import canonical_json, digest


class Written:
    """Remembers 16 bytes of each record that goes by."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.digests: list[bytes] = []
        schema = form.schema()
        self._json = (
            ()
            if schema is None
            else tuple(field.name for field in schema if _holds_json(field.type))
        )

    def watched(self, made: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The records, unchanged."""
        for record in made:
            self.digests.append(_digest(record))
            yield record

    def digest_of(self, row: Mapping[str, Any]) -> bytes:
        """Of a row as the loader gives it: JSON columns as their text again."""
        return _digest(
            {
                name: [text(value) for value in found] if name in self._json else found
                for name, found in row.items()
            }
        )


def _holds_json(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and isinstance(kind.value_type, pa.BaseExtensionType))


def _digest(record: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(digest(canonical_json(dict(record))))


def loaded(folder: Path, cache: Path, form: Form) -> Iterator[dict[str, Any]]:
    """The rows as `datasets` gives them to a trainer; of lines, each decoded."""
    if form.layout == "lines":
        for path in sorted(folder.glob("train-*.jsonl")):
            with path.open(encoding="utf-8") as file:
                yield from map(json.loads, file)
        return
    import datasets

    datasets.disable_progress_bars()
    yield from datasets.load_dataset(str(folder), split="train", cache_dir=str(cache))


def loading_findings(folder: Path, cache: Path, written: Written, findings: ProofIssues) -> None:
    """Compares row by row; files of one row each are compared with what they were to hold."""
    form, count = written.form, len(written.digests)
    if form.layout == "files":
        _traces(folder, written, findings)
        return
    loader = "json, line by line," if form.layout == "lines" else "datasets.load_dataset"
    rows, changed = 0, 0
    for row in loaded(folder, cache, form):
        found = (
            _digest({"line": plain_text(row)}) if form.layout == "lines" else written.digest_of(row)
        )
        changed += rows >= count or found != written.digests[rows]
        rows += 1
    findings.add(
        f"{loader} gives back all {rows} rows as they were written",
        f"{loader} gives {rows} of {count} rows, {changed} of them not as they were written"
        if rows != count or changed
        else None,
    )


def _traces(folder: Path, written: Written, findings: ProofIssues) -> None:
    known, rows = set(written.digests), len(written.digests)
    found = [
        _digest({"name": path.name, "text": path.read_text(encoding="utf-8")})
        for path in (folder / FOLDER).iterdir()
    ]
    same = sum(one in known for one in found)
    findings.add(
        f"{rows} files hold what was to be written",
        None
        if len(found) == rows == same
        else f"{len(found)} files for {rows} rows, {same} of them as they were to be written",
    )
