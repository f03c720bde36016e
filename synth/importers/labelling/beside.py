"""The labels of an import: read, matched with every trajectory of the sources, and applied."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from synth.importers.labelling.apply import labelled
from synth.importers.labelling.load import labels_of
from synth.importers.labelling.match import Labelable, Matches, candidate, matched
from synth.importers.labelling.rows import LabelRow
from synth.importers.load import opened
from synth.importers.records import WHOLE, Format, Imported, ImportSettings, Rejection


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
    found: list[Labelable] = []
    for file in opened(sources, format=form, settings=settings):
        if isinstance(file, Rejection):
            continue
        own: list[Labelable] = []
        for entry in file.entries:
            if isinstance(entry, Rejection) and entry.locator == WHOLE:
                own = []
                break
            if isinstance(entry, Imported):
                own.append(candidate(entry, file.path.as_posix()))
        found += own

    return found
