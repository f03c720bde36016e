"""The report: size of the file, seconds and memory that it takes to write, and when a browser has
painted it.

Run: `python -m benchmarks.report_size`
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.chromium import CHROMIUM, chromium
from benchmarks.command_line import SYNTH, ended
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.import_rate import TURNS as IMPORTED_TURNS
from benchmarks.import_rate import write
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import TURNS, recorded_episodes
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine

SHARD = 500
PAINTS = 3
_PAINTED = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)[0]"
_READY = "document.documentElement.dataset.ready === 'yes' && performance.now()"
_STATUS = "document.getElementById('status').textContent"


def recorded(run: Path, count: int) -> None:
    """A run of made-up episodes as the rollout stage commits them."""
    ledger = StoredLedger(str(run), create=True)
    ledger.begin_flow({"name": "recorded"}, ())
    ledger.begin_stage(StageLine("rollout", "key", {}))
    for seed, begun in enumerate(range(0, count, SHARD)):
        episodes = recorded_episodes(min(SHARD, count - begun), seed)
        ledger.commit(StageRef("rollout", "key"), trajectories=episodes, name=str(seed))


async def opened(page_file: Path) -> tuple[float, float, float, float, list[str]]:
    """Milliseconds to the first paint and until the list stands, to open a trajectory, seconds to
    look into all; what the console says.
    """
    async with chromium() as page:
        await page.open(page_file.as_uri())
        ready = float(await page.until(_READY))
        painted = float(await page.until(_PAINTED))
        began = perf_counter()
        await page.press("j", "Enter")
        await page.until("document.querySelector('#view[open] .turn')")
        shown_ms = 1000 * (perf_counter() - began)
        await page.press("Escape")
        began = perf_counter()
        await page.value(
            "document.getElementById('search').value = 'zzqx nowhere'; "
            "document.getElementById('tools').requestSubmit()"
        )
        await page.until(
            f"{_STATUS}.startsWith('0 trajectories of') && !{_STATUS}.endsWith('so far')"
        )
        return painted, ready, shown_ms, perf_counter() - began, page.console


def measure(count: int = 10_000, few: int = 1_000) -> Report:
    """Recorded episodes at two sizes, and imported attempts of random words, which hardly
    compress.
    """
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorded(folder / "few", few)
        recorded(folder / "many", count)
        small = ended([*SYNTH, "report", str(folder / "few"), "--quiet"], folder / "state")
        large = ended([*SYNTH, "report", str(folder / "many"), "--quiet"], folder / "state")
        page = folder / "many" / "report.html"
        figures += [
            Figure(
                f"{count:,} recorded episodes of {TURNS} turns: size",
                page.stat().st_size / 1e6,
                "MB",
                Target("at most", 30),
            ),
            Figure("written in", large.wall_s, "s"),
            Figure("peak memory", large.peak_mib, "MiB"),
            Figure(
                f"peak memory over that of {few:,}",
                large.peak_mib / small.peak_mib,
                "x",
                Target("at most", 1.5),
            ),
            *_painted(page),
        ]
        write(folder / "attempts.jsonl", count)
        ended(
            [
                *SYNTH,
                "import",
                str(folder / "attempts.jsonl"),
                "--into",
                str(folder / "imported"),
                "--quiet",
            ],
            folder / "state",
        )
        hard = ended([*SYNTH, "report", str(folder / "imported"), "--quiet"], folder / "state")
        page = folder / "imported" / "report.html"
        figures += [
            Figure(
                f"{count:,} attempts of {IMPORTED_TURNS} turns in random words: size",
                page.stat().st_size / 1e6,
                "MB",
                Target("at most", 30),
            ),
            Figure("written in", hard.wall_s, "s"),
            Figure("peak memory", hard.peak_mib, "MiB"),
            *_painted(page),
        ]
    return Report(
        "Report",
        tuple(figures),
        "`synth report` in a process of its own. Random words compress by half only: their texts "
        "are shortened until they fit. "
        + (
            f"Chromium, headless, from a file: medians of {PAINTS}."
            if CHROMIUM
            else "No Chromium here: nothing was painted."
        ),
    )


def _painted(page: Path) -> list[Figure]:
    if CHROMIUM is None:
        return []
    runs = [asyncio.run(opened(page)) for _ in range(PAINTS)]
    said = [line for run in runs for line in run[4]]
    if said:
        raise RuntimeError(f"the console is not silent: {said[0]}")
    painted, ready, opening, looking = (
        median(values) for values in zip(*(run[:4] for run in runs), strict=True)
    )
    return [
        Figure("first paint", painted / 1000, "s", Target("at most", 2)),
        Figure("list stands", ready / 1000, "s"),
        Figure("first trajectory opened in", opening, "ms"),
        Figure("all texts looked into in", looking, "s"),
    ]


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
