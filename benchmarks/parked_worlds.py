"""Parking: what it costs to put an idle world aside and to restore it, beside what a step of the
same world costs.

Run: `python -m benchmarks.parked_worlds`
"""

import asyncio
import statistics
import sys
from time import perf_counter, process_time
from typing import cast

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.envs.registry import ENVS
from synth.flows.environments import bindings_of, open_env
from synth.rollout.live_envs.parking import LiveWorlds, ParkedEnv
from synth.schemas.environment import Env

EPISODES, LIVE, THINKS_S = 200, 16, 0.05


async def episode(env: Env, task: object, thinks_s: float) -> int:
    """The world's own expert, which thinks as long as a model would; how many turns it took."""
    await env.reset(task)  # type: ignore[arg-type]
    turns = 0
    while True:
        turn = await env.expert()
        await asyncio.sleep(thinks_s)
        turns += 1
        if (await env.step(turn)).done:
            await env.close()
            return turns


def played(world: str, limit: int | None) -> tuple[float, float, int, int]:
    """Seconds of wall clock and of CPU, turns, and how often a world was parked; without a limit
    the worlds are used bare.
    """
    tasks = bindings_of({}).make_tasks(world, {}, 7, EPISODES)
    worlds = LiveWorlds(limit or EPISODES)

    async def all_of_them() -> int:
        envs = [
            open_env(world, task.env_config)
            if limit is None
            else cast(
                Env,
                ParkedEnv(
                    bindings_of({}).spec_of(world, {}),
                    lambda task=task: open_env(world, task.env_config),  # type: ignore[misc]
                    worlds,
                ),
            )
            for task in tasks
        ]
        return sum(
            await asyncio.gather(
                *(episode(env, task, THINKS_S) for env, task in zip(envs, tasks, strict=True))
            )
        )

    wall, cpu = perf_counter(), process_time()
    turns = asyncio.run(all_of_them())
    return perf_counter() - wall, process_time() - cpu, turns, worlds.parked


def measure(rounds: int = 3) -> Report:
    """200 episodes of each world, all live, and through 16 live worlds."""
    figures = []
    for world in ("echo", "storefront"):
        if world not in ENVS:
            continue
        played(world, None)  # base worlds are built once
        free = [played(world, None) for _ in range(rounds)]
        parked = [played(world, LIVE) for _ in range(rounds)]
        cpu, parked_cpu = (statistics.median(run[1] for run in runs) for runs in (free, parked))
        turns, times = free[0][2], statistics.median(run[3] for run in parked)
        figures += [
            Figure(f"{world}: turns of {EPISODES} episodes", turns),
            Figure(f"{world}: CPU per turn, all live", 1e3 * cpu / turns, "ms"),
            Figure(f"{world}: times a world was parked, {LIVE} live", times),
            Figure(
                f"{world}: CPU per parking with its restoring",
                1e3 * (parked_cpu - cpu) / times,
                "ms",
                Target("at most", 5.0),
            ),
            Figure(
                f"{world}: wall clock, {LIVE} live / all live",
                statistics.median(run[0] for run in parked) / free[0][0],
                "x",
            ),
        ]
    how = (
        f"{EPISODES} episodes at once by the world's expert, which takes {1e3 * THINKS_S:.0f} "
        f"ms a turn; medians of {rounds} rounds."
    )
    return Report("Parked worlds", figures, how)


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
