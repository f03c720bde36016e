"""Storefront: the figures of benchmarks.storefront_steps against their targets.

Run: `python -m benchmarks.storefront_targets`
"""

import asyncio
import sys
from statistics import median

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.storefront_steps import (
    LIVE_EPISODES,
    STEPS,
    expert_episodes,
    live_bytes,
    steps_per_second,
)
from synth.envs.storefront import WORLD


async def measured(task_count: int, rounds: int, *, with_live: bool) -> Report:
    """Live episodes first: their memory is read off the peak of the process."""
    tasks = list(WORLD.make_tasks({}, 7, task_count))
    live = (
        [
            Figure(
                f"memory per live episode, {LIVE_EPISODES:,} open", await live_bytes(tasks), "bytes"
            )
        ]
        if with_live
        else []
    )
    rate = median([await steps_per_second(tasks[0]) for _ in range(rounds)])
    planned, parked = await expert_episodes(tasks)
    return Report(
        "Storefront",
        (
            Figure(
                "steps per second and core, validated and keyed",
                rate,
                "/s",
                Target("at least", 10_000),
            ),
            Figure("turns per second with the expert planning each", planned, "/s"),
            Figure("largest parked episode", max(parked), "bytes", Target("at most", 64 * 1024)),
            Figure("parked episode, mean", sum(parked) / len(parked), "bytes"),
            *live,
        ),
        f"{STEPS:,} steps (one write in four) per round, median of {rounds} rounds; "
        f"{task_count} episodes of the expert, each parked at its end.",
    )


def measure(tasks: int = 256, rounds: int = 5, *, with_live: bool = True) -> Report:
    """One core, one process."""
    return asyncio.run(measured(tasks, rounds, with_live=with_live))


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
