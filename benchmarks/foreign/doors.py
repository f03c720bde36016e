"""The door table: how many trajectories of each family each door keeps from becoming rows, with
`configs/curate.yaml` as it is and with `synth curate RUN` once benchmarks are allowed.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.foreign.families import families, imported
from synth.api.curation import curate
from synth.exporters.doors import DoorTable, door_table
from synth.exporters.kind import RowSettings
from synth.ledger.ledger import StoredLedger
from synth.stats.intervals import clopper_pearson

ALLOWED = {"stages.export.allow_benchmark": True}
_ONE_SIDED = 0.90


def lines() -> Iterator[str]:
    """Two tables in Markdown, and what becomes of the successes."""
    yield (
        "| family | trajectories | benchmark | verdict unknown | failed or cut off | other | "
        "lead to rows | SFT rows |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    successes = led = 0
    allowed = []
    for name in families():
        with imported([name]) as url:
            rows = _rows(curate(url, "configs/curate.yaml", quiet=True).reports)
            yield _line(name, door_table(StoredLedger(url)), rows)
            rows = _rows(curate(url, set=ALLOWED, quiet=True).reports)
            found = door_table(StoredLedger(url), RowSettings(allow_benchmark=True))
            won = [one for one in StoredLedger(url).records() if one["outcome"] == "success"]
            allowed.append(_line(name, found, rows))
            successes, led = successes + len(won), led + found.open

    yield from ("", "With `synth curate RUN --set stages.export.allow_benchmark=true`:", "")
    yield (
        "| family | trajectories | benchmark | verdict unknown | failed or cut off | other | "
        "lead to rows | SFT rows |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    yield from allowed
    least = clopper_pearson(led, successes, _ONE_SIDED)[0]
    yield ""
    yield (
        f"{led:,} of {successes:,} successes lead to rows: {led / successes:.3f}, at least "
        f"{least:.3f} (95 %, one-sided); the others stand before `other`, by name in each "
        "run's table."
    )


def _rows(reports: Any) -> int:
    return int(reports["export"]["datasets"]["sft"]["rows"])


def _line(name: str, found: DoorTable, rows: int) -> str:
    stops = {one.name: one.stopped for one in found.doors}
    told = [stops.pop(door, 0) for door in ("benchmark", "verdict: unknown")]
    told.append(sum(stops.pop(f"verdict: {why}", 0) for why in ("failure", "truncated")))
    other = ", ".join(f"{count} {door}" for door, count in stops.items() if count) or "0"
    cells = [name, f"{found.collected:,}", *map(str, told), other, str(found.open), f"{rows:,}"]
    return f"| {' | '.join(cells)} |"
