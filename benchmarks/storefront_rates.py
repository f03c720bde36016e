"""Storefront: pass rates of bots and of the expert's profiles, over all tasks and by kind of task.

Run: `python -m benchmarks.storefront_rates [tasks]`
"""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from synth.envs.storefront import WORLD
from synth.envs.storefront.audit.bots import BOTS
from synth.envs.storefront.expert.belief import CORRECT, MISCONCEPTIONS, MIXED
from synth.envs.storefront.self_play import played
from synth.envs.storefront.tasks.scenarios import KINDS
from synth.envs.transcript import play
from synth.schemas.task import Task

TASKS = 400
SEED = 31
MOST_TURNS = 120
LONG = 3
TRIALS = 8


async def bot_rates(name: str, tasks: Sequence[Task]) -> list[bool]:
    """Which tasks a bot passes."""
    env = WORLD.open({})
    return [
        (await play(env, task, BOTS[name], seed=SEED, max_turns=MOST_TURNS)).verdict.passed is True
        for task in tasks
    ]


async def profile_rates(name: str, tasks: Sequence[Task]) -> list[bool]:
    """Which tasks the expert of a profile passes; `mixed` draws its misconceptions anew for each
    task.
    """
    return [played(task, name, SEED + at)[1] for at, task in enumerate(tasks)]


def row(name: str, tasks: Sequence[Task], passed: Sequence[bool]) -> str:
    """One line of the table: per cent over all, then by kind."""
    of_kind: defaultdict[str, list[bool]] = defaultdict(list)
    for task, verdict in zip(tasks, passed, strict=True):
        of_kind[task.difficulty["kind"]].append(verdict)
    shares = [
        100 * sum(passed) / len(passed),
        *(100 * sum(of_kind[kind]) / max(1, len(of_kind[kind])) for kind in KINDS),
    ]
    return f"| {name:<24} |" + "|".join(f"{share:8.1f} " for share in shares) + "|"


def trials(tasks: Sequence[Task]) -> str:
    """The mixed profile on long tasks: share of passed trials, and of tasks with both outcomes."""
    long = [task for task in tasks if task.difficulty["operations"] >= LONG]
    passed = [sum(played(task, MIXED, trial)[1] for trial in range(TRIALS)) for task in long]
    both = sum(0 < count < TRIALS for count in passed) / len(long)
    share = sum(passed) / TRIALS / len(long)
    return (
        f"mixed, {len(long)} tasks of {LONG} requests or more, {TRIALS} trials each: "
        f"{100 * share:.1f} % passed, "
        f"{100 * both:.1f} % of tasks with both outcomes"
    )


async def main() -> None:
    """Prints the table."""
    tasks = WORLD.make_tasks({}, SEED, int(sys.argv[1]) if len(sys.argv) > 1 else TASKS)
    print(f"{len(tasks)} tasks; per cent passed\n")
    print(
        f"| {'bot or profile':<24} |" + "|".join(f"{kind:>8.8} " for kind in ("all", *KINDS)) + "|"
    )
    print(f"|{'-' * 26}|" + "|".join("-" * 9 for _ in range(len(KINDS) + 1)) + "|")
    runs: list[tuple[str, Callable[[str, Sequence[Task]], Awaitable[list[bool]]]]] = [
        (name, bot_rates) for name in BOTS
    ]
    runs += [(name, profile_rates) for name in (CORRECT, MIXED, *MISCONCEPTIONS)]
    for name, rates in runs:
        shown = f"expert: {name}" if rates is profile_rates else name
        print(row(shown, tasks, await rates(name, tasks)), flush=True)
    print(f"\n{trials(tasks)}")


if __name__ == "__main__":
    asyncio.run(main())
