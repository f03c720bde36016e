"""Repositories: who solves a pool's tasks, who gets round them, what the check refuses, what a step
costs.

Run: `python -m benchmarks.repo.tasks POOL [tasks] [seed] [--only PART ...]`; PART is one of shape,
ids, gold, noop, bots, cheats, wrong, flaky, trials, steps; or model, ranker, which ask a model and
are run only where they are named: one behind a server (`--model-url`, `--model`), or without one
the small model of `make real-model` (SYNTH_VLLM_PYTHON, SYNTH_SMALL_MODEL).
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from benchmarks.repo import cost, model_bot, model_ranker, passing, soundness
from benchmarks.repo.bench import SEED, Bench
from benchmarks.repo.model_bot import ModelBot
from synth.envs.repo.starting import RepoConfig, RepoSettings
from synth.envs.repo.world import bound
from synth.schemas import ConfigError

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
ASKING: dict[str, Callable[[ModelBot, Bench], Awaitable[None]]] = {
    "model": model_bot.plays,
    "ranker": model_ranker.ranks,
}
"""Parts that need a model's server, and are run only where they are named."""


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool")
    parser.add_argument("tasks", type=int, nargs="?", default=TASKS)
    parser.add_argument("seed", type=int, nargs="?", default=SEED)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=[*PARTS, *ASKING])
    parser.add_argument("--ids", help="a file with ids of public tasks, one a line")
    parser.add_argument("--tests-s", type=float, default=LIMIT_S, help="of one run of the tests")
    shown = RepoConfig().output_chars
    parser.add_argument("--output-chars", type=int, default=shown, help="shown of one command")
    parser.add_argument("--model-url", help="such as http://127.0.0.1:8000/v1")
    parser.add_argument("--model", default=ModelBot().name, help="its name")
    parser.add_argument("--trials", type=int, default=1, help="of the model at each task")
    parser.add_argument("--turns", type=int, default=8, help="of the model in each trial")
    parser.add_argument("--max-tokens", type=int, default=256, help="of one turn of the model")
    parser.add_argument("--key-env", help="the variable that holds the server's key, if any")
    given = parser.parse_args()

    try:
        _measure(given)
    except ConfigError as error:
        parser.exit(2, f"{error}\n")


def _measure(given: argparse.Namespace) -> None:
    listed = Path(given.ids).read_text().split() if given.ids else ()
    settings = RepoSettings(pool=str(Path(given.pool).resolve()), tests_s=given.tests_s)
    world, config = bound(settings), {"output_chars": given.output_chars}
    bench = Bench(world, settings, world.make_tasks(config, given.seed, given.tasks), listed)

    asked = (given.model_url, given.model, given.trials, given.turns, given.max_tokens)
    bot = ModelBot(*asked, given.key_env)
    parts = PARTS | {name: partial(part, bot) for name, part in ASKING.items()}

    async def printed() -> None:
        for name in given.only:
            await parts[name](bench)

    asyncio.run(printed())


if __name__ == "__main__":
    main()
