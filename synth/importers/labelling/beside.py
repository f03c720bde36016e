"""The labels of an import: files of them are read as rows, matched with every trajectory of the
sources, and applied. A row that cannot be read is a rejection, and ends nothing.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from msgspec.structs import replace

from synth.importers.files.folders import files
from synth.importers.files.json_records import records_in
from synth.importers.labelling.apply import labelled
from synth.importers.labelling.match import Labelable, Matches, candidate, matched
from synth.importers.labelling.reports import label_rows
from synth.importers.labelling.rows import LabelRow
from synth.importers.load import in_whole_files
from synth.importers.records import (
    UNEXPECTED,
    Entry,
    Format,
    Imported,
    ImportSettings,
    Record,
    Rejection,
    explained,
)
from synth.importers.registry import format_of
from synth.schemas import ConfigError


class Labels(msgspec.Struct, frozen=True):
    """Rows by the slots of trajectories, and the rows that could not be read."""

    matches: Matches
    rejections: tuple[Rejection, ...]
    settings: ImportSettings

    def on(self, entry: Imported) -> Imported:
        """A trajectory with its label, where it has one."""
        row = self.matches.rows.get(entry.trajectory.slot_id)
        return entry if row is None else labelled(entry, row, self.settings)


def labels_for(
    sources: Sequence[Path],
    form: str | Format,
    settings: ImportSettings,
    files: Sequence[Path],
    key: re.Pattern[str] | None,
) -> Labels | None:
    """The labels of files for the trajectories of sources; None where there are no files. Raises
    `ConfigError` for files that do not exist.
    """
    if not files:
        return None

    found = list(labels_of(files, settings))
    rows = [one for one in found if isinstance(one, LabelRow)]
    rejections = tuple(one for one in found if isinstance(one, Rejection))
    return Labels(matched(rows, _candidates(sources, form, settings), key), rejections, settings)


def _candidates(
    sources: Sequence[Path], form: str | Format, settings: ImportSettings
) -> list[Labelable]:
    """Every trajectory of the sources that will come in, by what it may be called."""

    def read(entry: Entry, path: Path) -> Labelable | None:
        return candidate(entry, path.as_posix()) if isinstance(entry, Imported) else None

    return list(filter(None, in_whole_files(sources, form, settings, read)))


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
        for record in records_in(path, path.as_posix(), settings, loose=True):
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
    yield from (row for row in rows if not row.is_of_steps)
    singles = [row for row in rows if row.is_of_steps]
    ordered = sorted(singles, key=lambda row: (row.keys, row.trial or 0))
    for _, group in groupby(ordered, key=lambda row: (row.keys, row.pattern, row.trial)):
        together = list(group)
        found = tuple(step for row in together for step in row.steps)
        yield replace(together[0], steps=found)
