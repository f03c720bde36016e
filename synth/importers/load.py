"""Foreign files and folders -> tasks and trajectories, or the reason why not."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import cast

import msgspec

from schemas.canonical import digest
from schemas.errors import ConfigError
from synth.importers.json_records import records
from synth.importers.reading import content, files
from synth.importers.records import Imported, Importer, ImportSettings, Record, Rejection, one_line
from synth.importers.registry import IMPORTERS
from synth.importers.sniff import format_of, shape

_SNIFFED = 50  # records looked at before a file's format is given up as unknown


def imported(sources: Sequence[Path], *, format: str = "auto", settings: ImportSettings | None = None) -> Iterator[Imported | Rejection]:
    """Everything in the sources, file by file in sorted order; memory is bounded by one file.

    Every record found comes in or is a `Rejection`; a file with the content of an earlier one is one rejection. Raises `ConfigError`
    at once where a source does not exist or no importer has the format's name.
    """
    name = format.replace("-", "_")
    if name != "auto" and name not in IMPORTERS:
        raise ConfigError(f"format {format!r} is not known; allowed: auto, {', '.join(sorted(IMPORTERS))}")
    for source in sources:
        if not source.exists():
            raise ConfigError(f"{source} does not exist; give a file or a folder with trajectories")
    return _imported(sources, name, settings or ImportSettings())


def _imported(sources: Sequence[Path], format: str, settings: ImportSettings) -> Iterator[Imported | Rejection]:
    first_with: dict[str, str] = {}
    for source in sources:
        for entry in files(source):
            if isinstance(entry, Rejection):
                yield entry
            else:
                yield from _file(*entry, format, settings, first_with)


def _file(path: Path, name: str, format: str, settings: ImportSettings, first_with: dict[str, str]) -> Iterator[Imported | Rejection]:
    blob, damage = content(path, name)
    if blob or damage is None:
        sha = digest(blob)
        if blob and sha in first_with:
            yield Rejection(name, "file", "duplicate_file", f"same content as {first_with[sha]}")
        else:
            first_with.setdefault(sha, name)
            yield from _storable(_read(records(blob, name, sha), format, settings), name)
    if damage is not None:
        yield damage


def _read(found: Iterator[Record | Rejection], format: str, settings: ImportSettings) -> Iterator[Imported | Rejection]:
    """The records of one file through the importer of its format; what no importer knows is one rejection."""
    looked_at: list[Record | Rejection] = []
    unknown: list[Record] = []
    while format == "auto" and len(unknown) < _SNIFFED and (record := next(found, None)) is not None:
        looked_at.append(record)
        if isinstance(record, Record):
            format = format_of(record.value) or "auto"
            unknown.append(record)
    if format != "auto":
        yield from _importer(format)(chain(looked_at, found), settings)
        return
    yield from (record for record in looked_at if isinstance(record, Rejection))
    if unknown:
        yield Rejection(unknown[0].file, "file", "unknown_format", one_line(shape(unknown[0].value)))


def _importer(format: str) -> Importer:
    module, _, attribute = IMPORTERS[format].partition(":")
    return cast(Importer, getattr(import_module(module), attribute))


def _storable(entries: Iterable[Imported | Rejection], file: str) -> Iterator[Imported | Rejection]:
    """Hands on what can be written down again; values too deep or too large for that are rejections."""
    for entry in entries:
        if isinstance(entry, Imported):
            try:
                msgspec.json.encode(entry)
            except (msgspec.MsgspecError, RecursionError, OverflowError, UnicodeEncodeError, TypeError) as error:
                locator = (entry.trajectory.source or "").split(":")[2]
                yield Rejection(file, locator, "not_storable", one_line(str(error)))
                continue
        yield entry
