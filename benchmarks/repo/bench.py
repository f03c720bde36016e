"""A pool on the bench: its tasks, shares with their bounds, and who passes."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.shown_texts import texts_of
from synth.engine.progress import progress_for
from synth.envs.repo.bots.secrets import secrets
from synth.envs.repo.making.together import together
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree, task_tree
from synth.envs.transcript import play
from synth.envs.world import EnvEntry
from synth.schemas import AgentTurn, Episode, Policy, Task
from synth.stats.intervals import clopper_pearson

SEED, MOST_TURNS = 7, 60
Choose = Callable[[Episode], Policy]
T = TypeVar("T")
R = TypeVar("R")


class Bench(NamedTuple):
    """A pool with its tasks."""

    world: EnvEntry
    settings: RepoSettings
    tasks: Sequence[Task]
    ids: Sequence[str] = ()

    def place(self, task: Task) -> TaskTree:
        """The tree of a task."""
        return task_tree(Path(self.settings.pool), str(task.script["task"]))


def at_most(count: int, n: int) -> str:
    """A share that is to be small, with its exact upper 95 % bound."""
    return f"{count} of {n} (below {100 * clopper_pearson(count, n, 0.9)[1]:.2f} %)"


def at_least(count: int, n: int) -> str:
    """A share that is to be large, with its exact lower 95 % bound."""
    share = f"{100 * count / n:.1f} %, " if n else ""
    return f"{count} of {n} ({share}above {100 * clopper_pearson(count, n, 0.9)[0]:.1f} %)"


async def each(
    name: str, cases: Iterable[T], asked: Callable[[T], Awaitable[R]], unit: str = "episodes"
) -> list[R]:
    """What comes of each case, in their order, as many at a time as there are cores; how far it has
    come, to stderr.
    """
    every, turn, progress = list(cases), asyncio.Semaphore(os.cpu_count() or 1), progress_for()
    progress.start(name, len(every), unit)

    async def one(case: T) -> R:
        async with turn:
            found = await asked(case)
        progress.step(1)
        return found

    try:
        return await together(one(case) for case in every)
    finally:
        progress.stop()


class Ended(NamedTuple):
    """Whether an episode solved its task, how many lines of hidden tests it was shown, and what was
    done.
    """

    passed: bool
    shown: int
    actions: Sequence[AgentTurn]


async def ended(bench: Bench, task: Task, choose: Choose, seed: int = SEED) -> Ended:
    """How an episode of a policy ends."""
    env = bench.world.open(task.env_config)
    try:
        played = await play(env, task, choose, seed=seed, max_turns=MOST_TURNS)
    finally:
        await env.close()

    texts = "\n".join(texts_of(played))
    shown = sum(line in texts for line in secrets(bench.place(task)))
    return Ended(played.verdict.passed is True, shown, played.actions)


async def passes(bench: Bench, task: Task, choose: Choose, seed: int = SEED) -> bool:
    """Whether a policy solves a task."""
    return (await ended(bench, task, choose, seed)).passed


def named(what: str, bench: Bench, which: Sequence[bool]) -> None:
    """The tasks that something holds of."""
    found = [
        bench.place(task).task for task, holds in zip(bench.tasks, which, strict=True) if holds
    ]
    for one in found[:12]:
        print(f"    {what}: {one.id} {one.library} {one.kind}")
