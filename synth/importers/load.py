"""Foreign files and folders -> tasks and trajectories, or the reason why not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path

import msgspec

from synth.importers.decompression import Unpacked, unpacked
from synth.importers.json_records import records
from synth.importers.reading import files
from synth.importers.records import (
    UNEXPECTED,
    WHOLE,
    Entry,
    Format,
    ImportSettings,
    Record,
    Rejection,
    Replaced,
    one_line,
    unexpected,
)
from synth.importers.registry import IMPORTERS
from synth.importers.sniff import importer, importer_of, shape
from synth.importers.synth_run import NAME, StoredRun, stored_run, trials
from synth.schemas.errors import ConfigError

_SNIFFED = 50  # records looked at before a file's format is given up as unknown
_NOTHING: Mapping[int, Set[str]] = {}


class Opened(msgspec.Struct, frozen=True):
    """A file, or the folder of a run, that can be read to its end, with what stands in it; a
    `Rejection` of the whole among the entries takes them all back.
    """

    path: Path
    file: Unpacked | StoredRun
    entries: Iterator[Entry]


def opened(
    sources: Sequence[Path],
    *,
    format: str | Format = "auto",
    settings: ImportSettings | None = None,
    known: Mapping[int, Set[str]] = _NOTHING,
) -> Iterator[Opened | Rejection]:
    """Every file of the sources in sorted order; memory is bounded by one record. `format`: a name,
    or an importer of others.

    `known` are the files imported before, hashes by size. A file with the content of an earlier one
    is a rejection. Raises `ConfigError` at once where a source does not exist or no importer has
    the format's name.
    """
    named = format.replace("-", "_") if isinstance(format, str) else format
    if isinstance(named, str) and named != "auto" and named not in IMPORTERS:
        raise ConfigError(
            f"format {format!r} is not known; allowed: auto, {', '.join(sorted(IMPORTERS))}"
        )
    for source in sources:
        if not source.exists():
            raise ConfigError(f"{source} does not exist; give a file or a folder with trajectories")
    return _opened(sources, named, settings or ImportSettings(), known)


def _opened(
    sources: Sequence[Path],
    format: str | Format,
    settings: ImportSettings,
    known: Mapping[int, Set[str]],
) -> Iterator[Opened | Rejection]:
    first_with: dict[str, str] = {}
    for source in sources:
        for entry in files(source):
            if isinstance(entry, Rejection):
                yield entry
                continue
            path, name = entry
            file = _run(path, name, format) if path.is_dir() else unpacked(path, name, known)
            if not isinstance(file, Rejection) and file.size and file.sha in first_with:
                file = Rejection(
                    name, WHOLE, "duplicate_file", f"same content as {first_with[file.sha]}"
                )
            elif not isinstance(file, Rejection):
                first_with[file.sha] = name
            if isinstance(file, Rejection):
                yield file
            else:
                yield Opened(
                    path,
                    file,
                    trials(path, file)
                    if isinstance(file, StoredRun)
                    else _entries(file, format, settings),
                )


def _run(path: Path, name: str, format: str | Format) -> StoredRun | Rejection:
    if format not in ("auto", NAME):
        return Rejection(
            name, WHOLE, "unknown_format", f"a run of synth; `--format {NAME}` or auto reads it"
        )
    return stored_run(path, name)


def imported(
    sources: Sequence[Path], *, format: str = "auto", settings: ImportSettings | None = None
) -> Iterator[Entry]:
    """Everything in the sources, file by file; memory is bounded by one file's trajectories. A
    refused file gives its rejection alone.
    """
    return _imported(opened(sources, format=format, settings=settings))


def _imported(found: Iterator[Opened | Rejection]) -> Iterator[Entry]:
    for file in found:
        if isinstance(file, Rejection):
            yield file
            continue
        entries: list[Entry] = []
        for entry in file.entries:
            if isinstance(entry, Rejection) and entry.locator == WHOLE:
                entries = [entry]
                break
            entries.append(entry)
        yield from entries


def _entries(file: Unpacked, format: str | Format, settings: ImportSettings) -> Iterator[Entry]:
    """The records of one file through the importer of its format; what no importer knows is one
    rejection.

    Last comes how many of them had characters that no text can hold, where any had.
    """
    replaced: Counter[str] = Counter()
    found = _noting(records(file, settings), replaced)
    unknown: list[Record] = []
    try:
        for record in found:
            if isinstance(record, Rejection):
                yield record
                if record.locator == WHOLE:
                    return
                continue
            unknown.append(record)
            reader = (
                importer_of(record.value)
                if format == "auto"
                else importer(format)
                if isinstance(format, str)
                else format
            )
            if reader is not None:
                yield from reader.read(chain(unknown, found), settings)
                yield from (Replaced(file.name, first, count) for first, count in replaced.items())
                return
            if len(unknown) == _SNIFFED:
                break
        if unknown:
            yield Rejection(file.name, WHOLE, "unknown_format", one_line(shape(unknown[0].value)))
    except (ValueError, *UNEXPECTED) as error:
        yield Rejection(file.name, WHOLE, "bad_record", one_line(unexpected(error)))
    except MemoryError:
        yield Rejection(
            file.name, WHOLE, "out_of_memory", "too large for this machine's memory: split it"
        )
    except (OSError, EOFError) as error:
        yield Rejection(
            file.name, WHOLE, "unreadable", f"it changed while it was read: {one_line(str(error))}"
        )


def _noting(
    found: Iterator[Record | Rejection], replaced: Counter[str]
) -> Iterator[Record | Rejection]:
    """The same records; those in which U+FFFD stands for something else are counted under the place
    of the first one.
    """
    for record in found:
        if isinstance(record, Record) and record.replaced:
            replaced[next(iter(replaced), record.locator)] += 1
        yield record
