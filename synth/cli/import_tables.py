"""What an import found, as tables: by format and outcome, and what did not come in, by reason."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.table import Table
from rich.text import Text

from synth.engine.numbers import counted_noun
from synth.importers.records import Rejection
from synth.importers.tally import ImportTally
from synth.schemas.errors import ConfigError
from synth.schemas.outcome import Outcome
from synth.schemas.printable import printable

_EXAMPLES = 3
_OUTCOMES = [outcome.value for outcome in Outcome]


def came_in(tally: ImportTally) -> Table | None:
    """One row per format with its outcomes, and their sum."""
    if not tally.formats:
        return None
    columns = ["trajectories", *_OUTCOMES, "turns", "tool_calls", "present"]
    table = Table(
        title="Imported",
        title_style="bold",
        title_justify="left",
        header_style="bold",
        show_footer=len(tally.formats) > 1,
    )
    table.add_column("format", footer="all")
    for column in columns:
        name = {"present": "already here", "tool_calls": "tool calls"}.get(column, column)
        table.add_column(name, justify="right", footer=_number(tally.total([column])))
    for name, counts in sorted(tally.formats.items()):
        table.add_row(Text(printable(name)), *(_number(counts[column]) for column in columns))
    return table


def left_out(tally: ImportTally) -> Table | None:
    """One row per reason, with the first places that it stands for."""
    if not tally.reasons:
        return None
    table = Table(title="Rejected", title_style="bold", title_justify="left", header_style="bold")
    table.add_column("reason")
    table.add_column("count", justify="right")
    table.add_column("where", overflow="fold")
    for reason, count in Counter(tally.reasons).most_common():
        places = [rejection for rejection in tally.rejections if rejection.reason == reason]
        more = [f"... and {count - _EXAMPLES:,} more"] if count > _EXAMPLES else []
        table.add_row(
            Text(printable(reason)),
            f"{count:,}",
            Text("\n".join([*map(_place, places[:_EXAMPLES]), *more])),
        )
    return table


def notes(tally: ImportTally, *, dry_run: bool) -> list[str]:
    """What a person must know beside the tables."""
    lines = []
    if tally.marks:
        lines.append(
            f"{tally.marks:,} labels and notes of the sources "
            f"{'would become' if dry_run else 'are'} rows of the table scores"
        )
    if present := tally.total(["present"]):
        lines.append(
            f"{present:,} were in the ledger already, and stay as they were imported then, "
            "outcomes included"
        )
    if tally.reasons["duplicate_file"]:
        lines.append("files with the same content are imported once")
    if tally.replaced:
        first, records = tally.replaced[0], sum(one.records for one in tally.replaced)
        lines.append(
            f"{counted_noun(records, 'record')} had characters that no text can hold (lone "
            "surrogates): U+FFFD stands in their place, "
            f"first in {first.file}{_within(first.locator)}"
        )
    if tally.benchmarks:
        lines.append(
            "benchmark data: "
            + ", ".join(sorted(tally.benchmarks))
            + "; exports leave it out unless --allow-benchmark is given"
        )
    return lines


def write_listing(path: Path, rejections: Sequence[Rejection]) -> None:
    """Rejections as JSON lines. Raises `ConfigError` where the file cannot be written."""
    try:
        path.write_bytes(
            b"".join(msgspec.json.encode(rejection) + b"\n" for rejection in rejections)
        )
    except OSError as error:
        raise ConfigError(
            f"--rejections {path}: cannot be written: {error.strerror or error}"
        ) from error


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"


def _place(rejection: Rejection) -> str:
    text = f"{rejection.file}{_within(rejection.locator)}" + (
        f": {rejection.detail}" if rejection.detail else ""
    )
    return printable(text)


def _within(locator: str) -> str:
    return "" if locator in ("file", "folder") else f" {locator}"
