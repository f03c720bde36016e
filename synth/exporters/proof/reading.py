"""Interchange: what was written is read again, by our importers and, for what these have no use
for, by the keys that we wrote; then it is compared with what it was written from, fact by fact.

A difference that the form does not name among what it cannot say fails the proof.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.facts import RenderedChat, differing
from synth.exporters.folder.shards import FOLDER
from synth.exporters.form import Form, NotRepresentableError
from synth.exporters.forms import who_and_when
from synth.exporters.proof.loading import ProofIssues
from synth.exporters.proof.readers import (
    NotReadError,
    read_atif,
    read_chat,
    read_failure,
    read_session,
    told_of_failure,
)


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
        text = (folder / FOLDER / record["name"]).read_text(encoding="utf-8")
        several = record["name"].endswith(".jsonl")
        lines = [json.loads(line) for line in text.split("\n") if line] if several else []
        yield row, lines if several else json.loads(text)
