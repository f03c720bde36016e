"""Filters over a whole corpus: peak memory and rate, on as many made trajectories as asked for,
never more than a few hundred at a time.

Run: `python -m benchmarks.corpus_memory`
"""

import asyncio
import resource
import sys
from collections.abc import Coroutine, Iterator, Mapping
from time import process_time
from typing import Any

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import recorded_episodes
from synth.filters.contamination import ContaminationConfig, contamination
from synth.filters.duplicates import DuplicatesConfig, duplicates
from synth.filters.split import SplitConfig, split
from synth.schemas.environment import Env
from synth.schemas.filtering import Case, Cases, Verdict

TRAJECTORIES = 100_000
AT_ONCE = 200


def _no_world(name: str, config: Mapping[str, Any]) -> Env:
    raise RuntimeError("a benchmark of recorded trajectories opens no world")


def corpus(count: int) -> Cases:
    """Made anew at every pass."""

    def begin() -> Iterator[Case]:
        for seed in range(count // AT_ONCE):
            yield from (
                Case(trajectory, None, _no_world) for trajectory in recorded_episodes(AT_ONCE, seed)
            )

    return Cases(begin, count // AT_ONCE * AT_ONCE)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _timed(judging: Coroutine[Any, Any, Mapping[str, Verdict]]) -> tuple[int, float]:
    began = process_time()
    return len(await judging), process_time() - began


def measure(count: int = TRAJECTORIES) -> Report:
    """One filter after the other in this process; the making of the trajectories, several times
    each, is in the rates.
    """
    cases = corpus(count)
    figures = []
    for name, judging in (
        ("duplicates", duplicates(cases, DuplicatesConfig())),
        ("contamination", contamination(cases, ContaminationConfig())),
        ("split", split(cases, SplitConfig())),
    ):
        judged, seconds = asyncio.run(_timed(judging))
        figures.append(Figure(name, judged / seconds, "trajectories/s"))
    figures.append(Figure("peak memory, this process", _peak_mb(), "MB", Target("at most", 500)))
    return Report(
        "Memory of corpus filters",
        tuple(figures),
        f"{len(cases):,} made trajectories of ten turns, 4 KB each; one process.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
