"""Whether a loader gives back the rows that were written, in their order, to the last value.

Loaders change rows without a word: they fill in keys, round numbers, merge types. So each row is
compared as a whole with what was to be written.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from synth.exporters.exact_json import plain_text, text
from synth.exporters.folder.shards import FOLDER
from synth.exporters.form import Form
from synth.schemas.canonical import canonical_json, digest


@dataclass(slots=True)
class ProofIssues:
    """Lines: what was proven, what could not be looked at and why, what is wrong."""

    proven: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, proven: str, failed: str, *, wrong: object) -> None:
        """What is wrong, or else what is proven."""
        (self.failed if wrong else self.proven).append(failed if wrong else proven)


def watched(records: Iterable[dict[str, Any]], digests: list[str]) -> Iterator[dict[str, Any]]:
    """The records, unchanged, with a digest noted of each: they may be too many to be held."""
    for record in records:
        digests.append(_digest(record))
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
        yield from datasets.load_dataset(str(folder), split="train", cache_dir=str(cache))


def loading_findings(
    folder: Path, cache: Path, form: Form, expected: Sequence[str], findings: ProofIssues
) -> None:
    """Compares the rows that a loader gives with the digests of those that were written, one by
    one; files of one row each, whatever their order.
    """
    in_json = [column.name for column in form.columns if column.kind == ["json"]]
    found = list[str]()

    for row in loaded(folder, cache, form):
        # what the loader decoded is written as exact text again
        read = {"line": plain_text(row)} if form.layout == "lines" else row
        texts = {name: [text(value) for value in row[name]] for name in in_json}
        found.append(_digest({**read, **texts}))

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
