"""How hard the tasks of a pool are, by bots without a model; of those that they mend, few stay."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from synth.envs.repo.bots.tiers import (
    MENDED_BY,
    REFUSED,
    TRIVIAL,
    labelled,
    refused_share,
    with_wrong_patches,
)
from synth.envs.repo.making.pool.files import Tried, TriedFile, write_pool, write_task
from synth.envs.repo.making.pool.maker import Told
from synth.envs.repo.making.together import together
from synth.envs.repo.pool import Pool, RepoTask, read_pool, read_tasks
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree, unchanged_tools

TOO_EASY = "a bot mends it"
BY_HEART = "its check takes code that has the expected values by heart"
TAKES_WRONG = "its tests take patches that are nearly right"
LEAST_REFUSED = 0.85
"""Of the wrong patches that a task was tried with, the least share that it has to refuse: one of
eight may pass, as some do what the solution does.
"""
STEPS = {MENDED_BY: labelled, REFUSED: with_wrong_patches}
"""By what a task says of it, what is tried."""


class GradeTally(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks by tier, those that were taken out of the pool included; how many that were, by why."""

    tiers: Mapping[int, int]
    dropped: Mapping[str, int]


class GradeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What stays: of tasks that a bot mends at most a share of the pool, and tasks that refuse at
    least a share of the wrong patches.
    """

    most_trivial: float = 0.2
    least_refused: float = LEAST_REFUSED


async def grade_pool(folder: Path, limits: GradeLimits, at_once: int, told: Told) -> GradeTally:
    """Lets the bots try each task that they have not tried, and takes out what they mend beyond a
    share of the pool, and every task whose check does not tell a solution from its tests' expected
    values, or from patches that are nearly right. Raises `ConfigError`.
    """
    unchanged_tools(folder)
    pool, turn, settings = (
        read_pool(folder),
        asyncio.Semaphore(at_once),
        RepoSettings(pool=str(folder)),
    )

    async def graded(task: RepoTask) -> RepoTask:
        if _is_graded(task):
            return task
        async with turn:
            for name, tried in STEPS.items():
                if name not in task.about:
                    task = await tried(TaskTree(folder, pool.library(task.library), task), settings)
                    write_task(folder, task)
        told.kept(task)
        return task

    tasks = await together(graded(task) for task in read_tasks(folder, pool))
    dropped = _dropped(tasks, limits)
    take_out(folder, pool, dropped)
    return GradeTally(tiers=Counter(task.tier for task in tasks), dropped=Counter(dropped.values()))


def _dropped(tasks: list[RepoTask], limits: GradeLimits) -> dict[str, str]:
    """The ids of graded tasks that do not stay, with why."""
    dropped = {task.id: TAKES_WRONG for task in tasks if refused_share(task) < limits.least_refused}
    dropped |= {task.id: BY_HEART for task in tasks if "by_heart" in task.about}
    told_apart = [task for task in tasks if task.id not in dropped]
    dropped |= dict.fromkeys(beyond(told_apart, limits.most_trivial), TOO_EASY)
    return dropped


def _is_graded(task: RepoTask) -> bool:
    return all(name in task.about for name in STEPS)


def ungraded(folder: Path) -> int:
    """How many tasks have not been tried by all bots, or with wrong patches."""
    return sum(not _is_graded(task) for task in read_tasks(folder, read_pool(folder)))


def beyond(tasks: list[RepoTask], share: float) -> Iterator[str]:
    """The ids of trivial tasks that are more than a share of what stays; the last ones go."""
    hard = sum(task.tier != TRIVIAL for task in tasks)
    trivial = [task.id for task in tasks if task.tier == TRIVIAL]
    stay = len(trivial) if share >= 1 else int(hard * share / (1 - share) + 1e-9)
    yield from trivial[stay:]


def take_out(folder: Path, pool: Pool, dropped: Mapping[str, str]) -> None:
    """Ids, with why: out of the table of contents; and noted, so that they do not come back."""
    if not dropped:
        return
    write_pool(folder, pool.libraries, [one for one in pool.tasks if one not in dropped])
    tried = TriedFile(folder)
    keys = {one.task: key for key, one in tried.known.items() if one.task}
    for one, reason in dropped.items():
        if one in keys:
            tried.replace(Tried(keys[one], reason=reason))
