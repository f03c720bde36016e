"""Foreign files and folders -> tasks and trajectories, or the reason why not."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from synth.importers.agents.response_items import are_items
from synth.importers.files.batches import BatchRequests
from synth.importers.files.decompression import DAMAGE, Known, Unpacked, unpacked
from synth.importers.files.folders import files
from synth.importers.files.json_records import records
from synth.importers.files.pieces import joined
from synth.importers.files.whole_chat import whole_chat
from synth.importers.files.wrapped import unwrapped, wrapped_format
from synth.importers.interchange.synth_run import NAME, StoredRun, is_run, stored_run, trials
from synth.importers.nearest import are_verdicts, describes, nearest, saw, shape
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
    inside,
)
from synth.importers.registry import IMPORTERS, format_of, importer
from synth.schemas import ConfigError

_SNIFFED = 50  # records looked at before a file's format is given up as unknown

Kept = TypeVar("Kept")


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
    known: Known = frozenset(),
) -> Iterator[Opened | Rejection]:
    """Every file of the sources in sorted order; memory is bounded by one record. `format`: a name,
    or an importer of others.

    `known` are the files imported before. A file with the content of an earlier one is a rejection.
    Raises `ConfigError` at once where a source does not exist or no importer has the format's name.
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
    sources: Sequence[Path], format: str | Format, settings: ImportSettings, known: Known
) -> Iterator[Opened | Rejection]:
    first_with: dict[str, str] = {}
    batches = BatchRequests(sources, settings)
    for found in chain.from_iterable(map(files, sources)):
        if isinstance(found, Rejection):
            yield found
            continue

        path, name = found
        file = _file(path, name, format, known)
        if isinstance(file, Rejection):
            yield file
        elif file.size and file.sha in first_with:
            detail = f"same content as {first_with[file.sha]}"
            yield Rejection(name, WHOLE, "duplicate_file", detail)
        else:
            first_with[file.sha] = name
            if isinstance(file, StoredRun):
                yield Opened(path, file, trials(file))
            else:
                answered = partial(batches.answered, folder=path.parent)
                yield Opened(path, file, _entries(file, format, settings, answered))


def _file(
    path: Path, name: str, format: str | Format, known: Known
) -> Unpacked | StoredRun | Rejection:
    """The file at a path, the events of a folder as one, or the run in it."""
    if not path.is_dir():
        return unpacked(path, name, known)
    if not is_run(path):
        return joined(path, name, known)
    if format in ("auto", NAME):
        return stored_run(path, name)
    detail = f"a run of synth; `--format {NAME}` or auto reads it"
    return Rejection(name, WHOLE, "unknown_format", detail)


def entries_of(
    sources: Sequence[Path], format: str | Format, settings: ImportSettings
) -> Iterator[Entry]:
    """All that the sources hold, file by file; nothing of a file that is refused as a whole."""
    return in_whole_files(sources, format, settings, lambda entry, path: entry)


def in_whole_files(
    sources: Sequence[Path],
    format: str | Format,
    settings: ImportSettings,
    read: Callable[[Entry, Path], Kept],
) -> Iterator[Kept]:
    """What is read in the entries of each file, which are not kept themselves; nothing of a file
    that is refused as a whole.
    """
    for file in opened(sources, format=format, settings=settings):
        if isinstance(file, Rejection):
            continue
        own: list[Kept] = []
        for entry in file.entries:
            if isinstance(entry, Rejection) and entry.locator == WHOLE:
                own = []
                break
            own.append(read(entry, file.path))
        yield from own


def _entries(
    file: Unpacked,
    format: str | Format,
    settings: ImportSettings,
    answered: Callable[[Record], Record | Rejection],
) -> Iterator[Entry]:
    """The records of one file through the importer of its format; what no importer knows is one
    rejection.

    Last comes how many of them had characters that no text can hold, where any had.
    """
    whole, replaced = file.record(WHOLE), Replaced(file.name, "", 0)
    noted = _noted(file, settings, replaced)
    found = (answered(one) if isinstance(one, Record) else one for one in noted)
    chosen, unknown, broken = None, list[Record](), False

    try:
        for record in found:
            if isinstance(record, Rejection):
                broken = True
                yield record
                continue

            unknown.append(record)
            chosen = _reader(record, format, settings)
            if chosen is not None or len(unknown) == _SNIFFED:
                break

        if chosen is not None:
            name, reader, within = chosen
            file.seen = f"{name}: {saw(unknown[-1])}"
            rest = chain(unknown, found)
            yield from reader.read(unwrapped(rest) if within else rest, settings)
        elif unknown:
            yield from _unrecognised(file, unknown, found, settings, broken)
        yield from [replaced] if replaced.records else []
    except DAMAGE as error:
        yield whole.rejected("unreadable", f"it changed while it was read: {error}")
    except (ValueError, *UNEXPECTED) as error:
        yield whole.rejected("bad_record", explained(error))
    except MemoryError:
        yield whole.rejected("out_of_memory", "too large for this machine's memory: split it")


def _noted(
    file: Unpacked, settings: ImportSettings, replaced: Replaced
) -> Iterator[Record | Rejection]:
    """The records of a file; it is noted in which of them characters were replaced, and which of
    the columns that the user has named they have.
    """
    for record in records(file, settings):
        if isinstance(record, Record):
            if record.replaced:
                replaced.locator = replaced.locator or record.locator
                replaced.records += 1
            named = settings.columns.items()
            file.columns |= {name for name, key in named if inside(record.value, key) is not None}
        yield record


def _unrecognised(
    file: Unpacked,
    first: Sequence[Record],
    rest: Iterator[Record | Rejection],
    settings: ImportSettings,
    broken: bool,
) -> Iterator[Entry]:
    """A file no record of which is known by itself: the messages of a chat, or what nobody reads.
    `broken`: one of its records could not be read.
    """
    whole = file.record(WHOLE)
    messages = whole_chat(whole, first, rest, broken=broken)
    if messages is None:
        file.verdicts = are_verdicts(first[0].value)
        yield _unknown(whole, first[0].value)
        return
    items = are_items([one.value for one in first])
    name, what = ("openai_responses", "items") if items else ("messages", "messages")
    file.seen = f"{name}: one chat of {what}; {shape(first[0].value)}"
    yield from importer(name).read(messages, settings)


def _reader(
    record: Record, format: str | Format, settings: ImportSettings
) -> tuple[str, Format, bool] | None:
    """The name and the importer of a record's format, and whether it holds the records within; None
    where nobody knows it.
    """
    if isinstance(format, Format):
        return "plugin", format, False
    if format != "auto":
        return format, importer(format), False
    # who names the messages has said what the records are
    name = "messages" if "messages" in settings.columns else format_of(record.value)
    within = name is None
    name = name or wrapped_format(record)
    return None if name is None else (name, importer(name), within)


def _unknown(whole: Record, value: Any) -> Rejection:
    """A file that nobody reads: its shape, and what would read it."""
    what = describes(value)
    if what is not None:
        return whole.rejected("description", what)
    return whole.rejected("unknown_format", "; ".join(filter(None, (shape(value), nearest(value)))))
