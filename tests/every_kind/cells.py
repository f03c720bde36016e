"""One kind in one form, from one run, as `synth export --check` tells it."""

import re
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from synth.cli.export import export


@dataclass(frozen=True)
class Cell:
    """`proven`, `failed`: the lines that say so; `left_out`: reasons with counts; `refused`: the
    one line of an export without rows.
    """

    rows: int
    proven: tuple[str, ...]
    failed: tuple[str, ...]
    left_out: dict[str, int]
    refused: str | None


def cell(run: Path, kind: str, form: str, *flags: str) -> Cell:
    """Raises `AssertionError` for an exit that is neither a proof nor a refusal in one line."""
    done = CliRunner().invoke(export, [str(run), "--kind", kind, "--as", form, "--check", *flags])
    lines = done.output.splitlines()
    refused = None if done.exit_code == 0 else str(done.exception)
    assert done.exit_code == 0 or (
        type(done.exception).__name__ == "SynthError" and "\n" not in (refused or "")
    ), done.output
    (row,) = [at for at, line in enumerate(lines) if line.startswith(f"│ export {kind} ")]
    columns = [
        [part.strip() for part in line.strip("│").split("│")]
        for line in lines[row:]
        if line.startswith("│")
    ]
    reasons = " ".join(column[4] for column in columns).partition("left out: ")[2].partition(";")[0]
    counts = {
        reason: int(count.replace(",", ""))
        for count, reason in re.findall(r"([\d,]+) (\S+?)(?:,|$)", reasons)
    }

    def told(what: str) -> tuple[str, ...]:
        return tuple(
            line.removeprefix(f"{what}: ") for line in lines if line.startswith(f"{what}: ")
        )

    return Cell(
        int(columns[0][2].replace(",", "")), told("proven"), told("FAILED"), counts, refused
    )
