"""Files of labels -> rows; a row that cannot be read is a rejection, and ends nothing."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from synth.importers.files.decompression import unpacked
from synth.importers.files.folders import files
from synth.importers.files.json_records import records
from synth.importers.labelling.reports import label_rows
from synth.importers.labelling.rows import LabelRow
from synth.importers.records import (
    UNEXPECTED,
    ImportSettings,
    Record,
    Rejection,
    explained,
)
from synth.importers.registry import format_of
from synth.schemas import ConfigError


def labels_of(sources: Sequence[Path], settings: ImportSettings) -> Iterator[LabelRow | Rejection]:
    """The rows of files, and of folders of reports; of several rows for one trajectory's steps one.
    Raises `ConfigError` for a source that does not exist.
    """
    for source in sources:
        if not source.exists():
            raise ConfigError(f"--labels {source} does not exist; give a file or a folder")
    for source in sources:
        found = list(_rows(source, settings))
        yield from (one for one in found if isinstance(one, Rejection))
        rows = [one for one in found if isinstance(one, LabelRow)]
        yield from _with_steps(rows)


def _rows(source: Path, settings: ImportSettings) -> Iterator[LabelRow | Rejection]:
    for found in files(source):
        if isinstance(found, Rejection):
            yield found
            continue

        path, name = found
        if source.is_dir() and not _TABLES.search(name):
            continue
        # the whole path: results and trajectories find each other by their folders
        file = unpacked(path, path.as_posix(), frozenset())
        if isinstance(file, Rejection):
            yield file
            continue
        for record in records(file, settings, loose=True):
            if isinstance(record, Rejection):
                yield record
                continue
            # a folder of reports holds the trajectories too, which are no labels
            if source.is_dir() and format_of(record.value) not in (None, *_RESULTS):
                continue
            yield from _read(record, settings)


_TABLES = re.compile(r"\.(json|jsonl|ndjson|csv|parquet)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)
"""Names of files that are looked at in a folder of reports."""
_RESULTS = ("tau2", "tau_bench")
"""Formats of trajectories whose files are results at once."""


def _read(record: Record, settings: ImportSettings) -> Iterator[LabelRow | Rejection]:
    try:
        yield from label_rows(record, settings)
    except (ValueError, *UNEXPECTED) as error:
        yield record.rejected("bad_label", explained(error))


def _with_steps(rows: list[LabelRow]) -> Iterator[LabelRow]:
    """Rows for single steps of one trajectory as one row."""
    alone = [row for row in rows if not (row.steps and row.says[:3] == (None, None, None))]
    yield from alone
    singles = [row for row in rows if row.steps and row.says[:3] == (None, None, None)]
    ordered = sorted(singles, key=lambda row: (row.keys, row.trial or 0))
    for _, group in groupby(ordered, key=lambda row: (row.keys, row.pattern, row.trial)):
        together = list(group)
        found = tuple(step for row in together for step in row.steps)
        yield replace(together[0], steps=found)
