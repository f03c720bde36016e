"""A pool on the bench: its tasks, shares with their bounds, and who passes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree, task_tree
from synth.envs.transcript import play
from synth.envs.world import EnvEntry
from synth.schemas import Episode, Policy, Task
from synth.stats.intervals import clopper_pearson

SEED, MOST_TURNS = 7, 60
Choose = Callable[[Episode], Policy]


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


async def passes(bench: Bench, task: Task, choose: Choose, seed: int = SEED) -> bool:
    """Whether a policy solves a task."""
    env = bench.world.open(task.env_config)
    try:
        played = await play(env, task, choose, seed=seed, max_turns=MOST_TURNS)
        return played.verdict.passed is True
    finally:
        await env.close()


def named(what: str, bench: Bench, which: Sequence[bool]) -> None:
    """The tasks that something holds of."""
    found = [
        bench.place(task).task for task, holds in zip(bench.tasks, which, strict=True) if holds
    ]
    for one in found[:12]:
        print(f"    {what}: {one.id} {one.library} {one.kind}")
