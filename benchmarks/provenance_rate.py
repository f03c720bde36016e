"""Provenance: trajectories per second on one core, by world and by length.

Run: `python -m benchmarks.provenance_rate`
"""

import asyncio
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.planted_episodes import expert, played
from benchmarks.real_trajectories import imported
from synth.envs.storefront import WORLD
from synth.importers.records import Imported
from synth.schemas.trajectory import Trajectory
from synth.text.provenance import provenance

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TASKS = 400
ROUNDS = 5


def per_second(trajectories: Sequence[Trajectory]) -> float:
    """Median over the rounds, in CPU seconds of this process, after one round that is not
    counted.
    """
    rates = []
    for _ in range(ROUNDS + 1):
        started = process_time()
        for trajectory in trajectories:
            provenance(trajectory)
        rates.append(len(trajectories) / (process_time() - started))
    return median(rates[1:])


def characters(trajectories: Sequence[Trajectory]) -> float:
    """Mean characters of observations and system prompt."""
    shown_texts = (
        len(observation.content)
        for t in trajectories
        for observation in chain(t.opening, *(turn.observations for turn in t.turns))
    )
    return (sum(shown_texts) + sum(len(t.system_prompt or "") for t in trajectories)) / len(
        trajectories
    )


def measure(count: int = TASKS) -> Report:
    """Storefront's expert and mixed profiles; tau-bench where the data are there."""
    tasks = WORLD.make_tasks({}, 23, count)
    sets = {
        f"storefront, {name}": [
            asyncio.run(played(task, expert(profile, at))) for at, task in enumerate(tasks)
        ]
        for name, profile in (("expert", None), ("mixed profiles", "mixed"))
    }
    if DATA.is_dir():
        found = imported([DATA / folder for folder in ("tau1", "tau1_retail", "agentrx_tau")])
        sets["tau-bench"] = [entry.trajectory for entry in found if isinstance(entry, Imported)]
    figures = []
    for name, trajectories in sets.items():
        turns = sum(len(t.turns) for t in trajectories) / len(trajectories)
        what = f"{name}: {turns:.0f} turns, {characters(trajectories) / 1000:.0f}k characters"
        figures.append(
            Figure(what, per_second(trajectories), "trajectories/s", Target("at least", 1000))
        )
    return Report(
        "Provenance, rate",
        figures,
        f"One process, CPU seconds, medians of {ROUNDS} rounds over all trajectories of a kind.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
