"""Foreign files and folders -> tasks and trajectories, or the reason why not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from synth.importers.decompression import DAMAGE, Unpacked, unpacked
from synth.importers.folders import files
from synth.importers.json_records import records
from synth.importers.records import (
    UNEXPECTED,
    WHOLE,
    Entry,
    Format,
    ImportSettings,
    Record,
    Rejection,
    Replaced,
    explained,
)
from synth.importers.registry import IMPORTERS, format_of, importer
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
    for found in chain.from_iterable(map(files, sources)):
        if isinstance(found, Rejection):
            yield found
            continue
        path, name = found
        is_run = path.is_dir()
        if is_run and format not in ("auto", NAME):
            detail = f"a run of synth; `--format {NAME}` or auto reads it"
            yield Rejection(name, WHOLE, "unknown_format", detail)
            continue
        file = stored_run(path, name) if is_run else unpacked(path, name, known)
        if isinstance(file, Rejection):
            yield file
        elif file.size and file.sha in first_with:
            detail = f"same content as {first_with[file.sha]}"
            yield Rejection(name, WHOLE, "duplicate_file", detail)
        else:
            first_with[file.sha] = name
            yield Opened(
                path,
                file,
                trials(path, file)
                if isinstance(file, StoredRun)
                else _entries(file, format, settings),
            )


def imported(
    sources: Sequence[Path], *, format: str = "auto", settings: ImportSettings | None = None
) -> Iterator[Entry]:
    """Everything in the sources, file by file; memory is bounded by one file's trajectories. A
    refused file gives its rejection alone.
    """
    return chain.from_iterable(map(_whole, opened(sources, format=format, settings=settings)))


def _whole(found: Opened | Rejection) -> list[Entry]:
    entries: list[Entry] = [found] if isinstance(found, Rejection) else list(found.entries)
    for one in entries:
        if isinstance(one, Rejection) and one.locator == WHOLE:
            return [one]
    return entries


def _entries(file: Unpacked, format: str | Format, settings: ImportSettings) -> Iterator[Entry]:
    """The records of one file through the importer of its format; what no importer knows is one
    rejection.

    Last comes how many of them had characters that no text can hold, where any had.
    """
    whole = Record(file.name, file.sha, WHOLE, None)
    replaced: Counter[str] = Counter()
    found = _noting(records(file, settings), replaced)
    unknown: list[Record] = []
    try:
        for record in found:
            if isinstance(record, Rejection):
                yield record
                continue
            unknown.append(record)
            reader = _reader(format, record.value)
            if reader is not None:
                yield from reader.read(chain(unknown, found), settings)
                yield from (Replaced(file.name, first, count) for first, count in replaced.items())
                return
            if len(unknown) == _SNIFFED:
                break
        if unknown:
            yield whole.rejected("unknown_format", _shape(unknown[0].value))
    except DAMAGE as error:
        yield whole.rejected("unreadable", f"it changed while it was read: {error}")
    except (ValueError, *UNEXPECTED) as error:
        yield whole.rejected("bad_record", explained(error))
    except MemoryError:
        yield whole.rejected("out_of_memory", "too large for this machine's memory: split it")


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


def _reader(format: str | Format, value: Any) -> Format | None:
    name = format_of(value) if format == "auto" else format
    return importer(name) if isinstance(name, str) else name


def _shape(value: Any) -> str:
    """A record's outline, for the message that nobody reads it: its first keys, or its type."""
    if isinstance(value, Mapping):
        return "object with " + ", ".join(repr(key) for key in list(value)[:8])
    if isinstance(value, list):
        return "array of " + (_shape(value[0]) if value else "nothing")
    return f"JSON {type(value).__name__}"
