"""Repositories: who solves a pool's tasks, who gets round them, what the check refuses, what a step
costs.

Run: `python -m benchmarks.repo.tasks POOL [tasks] [seed] [--only PART ...]`; PART is one of shape,
ids, gold, noop, bots, cheats, wrong, flaky, trials, steps.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.repo import cost, passing, soundness
from benchmarks.repo.bench import SEED, Bench
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.world import bound

TASKS, LIMIT_S = 10_000, 40.0


PARTS: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "shape": soundness.shape,
    "ids": soundness.ids,
    "gold": passing.gold,
    "noop": passing.noop,
    "bots": passing.bots,
    "cheats": passing.cheating,
    "wrong": soundness.wrong_patches,
    "flaky": soundness.flaky,
    "trials": passing.trials,
    "steps": cost.steps,
}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool")
    parser.add_argument("tasks", type=int, nargs="?", default=TASKS)
    parser.add_argument("seed", type=int, nargs="?", default=SEED)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--ids", help="a file with ids of public tasks, one a line")
    parser.add_argument("--tests-s", type=float, default=LIMIT_S, help="of one run of the tests")
    given = parser.parse_args()
    listed = Path(given.ids).read_text().split() if given.ids else ()
    settings = RepoSettings(pool=str(Path(given.pool).resolve()), tests_s=given.tests_s)
    world = bound(settings)
    bench = Bench(world, settings, world.make_tasks({}, given.seed, given.tasks), listed)

    async def printed() -> None:
        for name in given.only:
            await PARTS[name](bench)

    asyncio.run(printed())


if __name__ == "__main__":
    main()
