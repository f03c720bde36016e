"""`synth import`: trajectories of other tools into a ledger."""

from collections import Counter
from collections.abc import Iterator, Sequence
from os.path import commonpath
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from synth.cli.options import command, console, own_name, tell, write_file
from synth.schemas import SynthError, printable

if TYPE_CHECKING:
    from synth import ImportTally, Table

_EXAMPLES = 3
_LISTED = 20
"""What is left without a label is told in full up to this many."""


@command
def import_runs(
    sources: tuple[Path, ...],
    run: str,
    listing: Path | None,
    unmatched: Path | None,
    dry_run: bool,
    **chosen: Any,
) -> None:
    """Read trajectories of other tools into a ledger; what cannot be used is counted by reason,
    nothing is dropped silently.

    \b
    Example:  synth import results.json.gz logs/ --into runs/mine
    """
    import msgspec

    from synth import import_trajectories

    def listed(option: str, path: Path | None, found: Sequence[Any]) -> None:
        if path is not None:
            write_file(option, path, b"".join(msgspec.json.encode(one) + b"\n" for one in found))

    # a file that cannot be written is told before the import, not after it
    listed("--rejections", listing, ())
    listed("--unmatched", unmatched, ())
    tally = import_trajectories(*sources, into=run, dry_run=dry_run, **chosen)
    listed("--rejections", listing, tally.rejections)
    listed("--unmatched", unmatched, tally.labels.unmatched if tally.labels else ())
    out = console()
    for table in _tables(tally):
        out.print(table.grid())
    for line in _notes(tally, dry_run=dry_run):
        tell(line)
    if not tally.total(["trajectories", "present"]):
        whole = ", ".join(map(str, sources[:3])) + (", ..." if len(sources) > 3 else "")
        files = "1 file" if tally.files == 1 else f"{tally.files:,} files"
        raise SynthError(f"{whole}: nothing to import in {files}; {run} was left as it was")
    _tell_labels(tally, sources, run if dry_run else f"{run.rstrip('/')}-labelled")
    tell("dry run: nothing was written" if dry_run else f"ledger   {run}")
    if tally.first is not None and not dry_run:
        tell(f"look     {own_name()} show {quote(run)} {tally.first[:12]}")


def _tell_labels(tally: "ImportTally", sources: Sequence[Path], run: str) -> None:
    """The command that reads the verdicts which lie among the sources, where they are not used."""
    files = tally.verdict_files
    if not files or tally.labels is not None:
        return
    few = len(files) <= _EXAMPLES
    shown = files if few else [Path(commonpath([one.parent for one in files]))]
    told = [*map(quote, map(str, sources)), "--into", quote(run)]
    told += [word for one in shown for word in ("--labels", quote(str(one)))]
    number = "a file" if len(files) == 1 else f"{len(files):,} files"
    tell(f"verdicts lie in {number} beside the trajectories. Into a new run, with them:")
    tell(printable(f"  {own_name()} import {' '.join(told)}"))


def _tables(tally: "ImportTally") -> "Iterator[Table]":
    """By format and outcome, with their sum; and what did not come in, by reason, with the first
    places that it stands for.
    """
    from synth import Outcome, Table

    columns = ["trajectories", *(one.value for one in Outcome), "turns", "tool_calls", "present"]
    shown = [{"present": "already here"}.get(name, name.replace("_", " ")) for name in columns]
    rows = [
        (name, *(_number(counts[column]) for column in columns))
        for name, counts in sorted(tally.formats.items())
    ]
    if len(rows) > 1:
        rows.append(("all", *(_number(tally.total([column])) for column in columns)))
    if rows:
        yield Table("Imported", ("format", *shown), rows)
    if tally.unread:
        kinds = [(printable(kind), _number(count)) for kind, count in tally.unread.most_common()]
        yield Table("Not read: kept as it stood", ("content", "count"), kinds)
    reasons = list(_rejected(tally))
    if reasons:
        yield Table("Rejected", ("reason", "count", "where"), reasons)


def _rejected(tally: "ImportTally") -> Iterator[tuple[str, str, str]]:
    """What did not come in: reason, how often, and the first places that it stands for."""
    for reason, count in Counter(tally.reasons).most_common():
        places = [
            f"{one.file}{_within(one.locator)}" + (f": {one.detail}" if one.detail else "")
            for one in tally.rejections
            if one.reason == reason
        ]
        more = [f"... and {count - _EXAMPLES:,} more"] if count > _EXAMPLES else []
        lines = [printable(line) for line in (*places[:_EXAMPLES], *more)]
        yield reason, f"{count:,}", "\n".join(lines)


def _of_labels(tally: "ImportTally") -> Iterator[str]:
    """How many labels found their trajectories, and which did not: all of them where they are
    few.
    """
    found = tally.labels
    if found is None:
        return
    labels = [one for one in found.unmatched if one.what == "label"]
    without = [one for one in found.unmatched if one.what == "trajectory"]
    yield (
        f"labels   {found.labels:,} rows: {found.labels - len(labels):,} found their trajectory, "
        f"{len(found.rows):,} trajectories have one; without: {len(labels):,} labels, "
        f"{len(without):,} trajectories"
    )
    yield from (f"  {note}" for note in found.notes())
    if tally.total(["present"]):
        yield "  what was in the ledger already keeps its outcome: labels count in a new run"
    for left in (labels, without):
        shown = left if len(left) <= _LISTED else left[:_EXAMPLES]
        for one in shown:
            place = f"{one.file}{_within(one.locator)}"
            yield printable(f"  {one.what} {', '.join(one.keys[:3]) or place}: {one.why} ({place})")
        if len(left) > len(shown):
            yield f"  ... and {len(left) - len(shown):,} more: --unmatched FILE lists all"


def _notes(tally: "ImportTally", *, dry_run: bool) -> Iterator[str]:
    """What a person must know beside the tables."""
    for seen, files in tally.seen.most_common(_LISTED):
        number = f" ({files:,} files)" if files > 1 else ""
        yield printable(f"read as  {seen}{number}")
    if len(tally.seen) > _LISTED:
        yield f"read as  ... and {len(tally.seen) - _LISTED:,} more shapes"
    yield from _of_labels(tally)
    yield from map(printable, (*tally.unfound, *tally.verdicts))
    if tally.marks:
        become = "would become" if dry_run else "are"
        yield f"{tally.marks:,} labels and notes of the sources {become} rows of the table scores"
    if present := tally.total(["present"]):
        yield (
            f"{present:,} were in the ledger already, and stay as they were imported then, "
            "outcomes included"
        )
    if tally.reasons["duplicate_file"]:
        yield "files with the same content are imported once"
    if tally.replaced:
        first, records = tally.replaced[0], sum(one.records for one in tally.replaced)
        yield (
            f"{records:,} record{'' if records == 1 else 's'} had characters that no text can hold "
            "(lone surrogates): U+FFFD stands in their place, "
            f"first in {first.file}{_within(first.locator)}"
        )
    if tally.benchmarks:
        yield (
            f"benchmark data: {', '.join(sorted(tally.benchmarks))}; exports leave it out unless "
            "--allow-benchmark is given"
        )


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"


def _within(locator: str) -> str:
    return "" if locator in ("file", "folder") else f" {locator}"
