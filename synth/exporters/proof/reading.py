"""Whether what was written is read back: by a loader, the rows in their order, to the last value;
interchange by our importers and, for what these have no use for, by the keys that we wrote.

Loaders change rows without a word: they fill in keys, round numbers, merge types. So each row is
compared as a whole with what was to be written. What importers read is compared fact by fact with
what it was written from: a difference that the form does not name among what it cannot say fails
the proof.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.exact_json import plain_text, text
from synth.exporters.facts import RenderedChat, differing
from synth.exporters.folder.shards import FOLDER, part_of
from synth.exporters.form import Form, NotRepresentableError
from synth.exporters.forms import who_and_when
from synth.exporters.proof.readers import (
    NotReadError,
    read_atif,
    read_chat,
    read_failure,
    read_session,
    told_of_failure,
)
from synth.schemas import canonical_json, digest


@dataclass(slots=True)
class ProofIssues:
    """Lines: what was proven, what could not be looked at and why, what is wrong."""

    proven: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, proven: str, failed: str, *, wrong: object) -> None:
        """What is wrong, or else what is proven."""
        (self.failed if wrong else self.proven).append(failed if wrong else proven)


Noted = tuple[str, str]
"""The part that a record stands in, and its digest."""


def watched(
    records: Iterable[dict[str, Any]], form: Form, noted: list[Noted]
) -> Iterator[dict[str, Any]]:
    """The records, unchanged, each noted: they may be too many to be held."""
    for record in records:
        noted.append((record[form.parted_by] if form.parted_by else "", _digest(record)))
        yield record


def _digest(record: Mapping[str, Any]) -> str:
    """Of the record's values, whatever the order of its keys."""
    return digest(canonical_json(dict(record)))


def loaded(folder: Path, cache: Path, form: Form) -> Iterator[dict[str, Any]]:
    """The rows as `datasets` gives them to a trainer; of lines, each decoded; of files of one row
    each, their names and texts.
    """
    if form.layout == "files":
        for path in (folder / FOLDER).iterdir():
            yield {"name": path.name, "text": path.read_text(encoding="utf-8")}
    elif form.layout == "lines":
        for path in sorted(folder.glob("train-*.jsonl")):
            with path.open(encoding="utf-8") as file:
                yield from map(json.loads, file)
    else:
        import datasets

        datasets.disable_progress_bars()
        parts = {part_of(path.name) or "" for path in folder.glob("train-*")}
        for part in sorted(parts):
            yield from datasets.load_dataset(
                str(folder), part or None, split="train", cache_dir=str(cache)
            )


def loading_findings(
    folder: Path, cache: Path, form: Form, noted: Sequence[Noted], findings: ProofIssues
) -> None:
    """Compares the rows that a loader gives with those that were written, one by one; files of one
    row each, whatever their order.
    """
    expected = [digest for _, digest in sorted(noted, key=itemgetter(0))]
    found = [_written_again(row, form) for row in loaded(folder, cache, form)]
    count = len(expected)
    if form.layout == "files":
        same = sum(map(set(expected).__contains__, found))
        findings.add(
            f"{count} files hold what was to be written",
            f"{len(found)} files for {count} rows, {same} of them as they were to be written",
            wrong=not len(found) == count == same,
        )

        return

    # rows are compared in their order, and one that is missing moves all behind it
    loader = "json, line by line," if form.layout == "lines" else "datasets.load_dataset"
    changed = sum(one != other for one, other in zip_longest(found, expected[: len(found)]))
    findings.add(
        f"{loader} gives back all {len(found)} rows as they were written",
        f"{loader} gives {len(found)} of {count} rows, {changed} of them not as they were written",
        wrong=len(found) != count or changed,
    )


def _written_again(row: Mapping[str, Any], form: Form) -> str:
    """The digest of the record that a row was loaded from: what the loader decoded is written as
    exact text again.
    """
    read = {"line": plain_text(row)} if form.layout == "lines" else row
    in_json = [column.name for column in form.columns if column.kind == ["json"]]
    texts = {name: [text(value) for value in row[name]] for name in in_json}
    return _digest({**read, **texts})


class Reader(msgspec.Struct, frozen=True):
    """What is read of the JSON value that was written for a row; `by` says who reads.

    `told`: what the row tells, where it is not all that the form's does. `refuses`: the loss for
    which a row is taken by no reader.
    """

    read: Callable[[Any], RenderedChat]
    by: str = "our importer reads"
    told: Callable[[Any], RenderedChat] | None = None
    refuses: str | None = None


READERS: Mapping[str, Reader] = {
    "atif": Reader(read_atif),
    "sts": Reader(read_session, "read by their keys"),
    "openai": Reader(read_chat),
    "who_and_when": Reader(read_failure, told=told_of_failure, refuses=who_and_when.WORLD),
}


def reading_findings(
    folder: Path,
    loaded: Callable[[], Iterator[Any]],
    form: Form,
    rows: Iterable[Any],
    findings: ProofIssues,
) -> None:
    """Compares what each row tells with what a reader gets; all but what the form says that it
    loses must be the same. What a form has no place for, a reader may make up.
    """
    reader, problems, unread, count = READERS[form.name], Counter[str](), 0, 0
    # a reader that gets less than the form tells is compared with less
    told: Any = reader.told or form.told

    for row, value in _written(folder, loaded, form, rows):
        count += 1
        named = set(form.unsaid(row))

        try:
            # a loss that is not named fails the proof; one that is named may come back
            found = set(differing(told(row), reader.read(value))) - named - {*form.lacks}
        except NotReadError as error:
            found = set() if reader.refuses in named else {f"not read: {error}"}
            unread += not found

        problems.update(found)

    what = "; ".join(f"{name} ({n} of {count} rows)" for name, n in sorted(problems.items()))
    rest = f", but for {unread} that no reader takes, which is named" if unread else ""
    findings.add(
        f"{form.name}: {reader.by} all {count} rows as they were written, but for what is named "
        f"as lost{rest}",
        f"{form.name} read again: otherwise than written, and not named as lost: {what}",
        wrong=bool(problems),
    )


def _written(
    folder: Path, loaded: Callable[[], Iterator[Any]], form: Form, rows: Iterable[Any]
) -> Iterator[tuple[Any, Any]]:
    """Each row that the form has a place for, with the JSON value that stands there for it."""
    values = loaded() if form.layout != "files" else iter(())

    for row in rows:
        try:
            record = form.record(row)
        except NotRepresentableError:
            continue

        if form.layout != "files":
            yield row, next(values)
            continue

        # a file is found by the row's own name
        written = (folder / FOLDER / record["name"]).read_text(encoding="utf-8")
        several = record["name"].endswith(".jsonl")
        lines = [json.loads(line) for line in written.split("\n") if line] if several else []
        yield row, lines if several else json.loads(written)
