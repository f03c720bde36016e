"""How hard the tasks of a pool are, by bots without a model; of those that they mend, few stay."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from synth.envs.repo.bots.tiers import (
    BY_HEART,
    FORGED,
    MENDED_BY,
    NOT_TOLD,
    REFUSED,
    TRIVIAL,
    refused_share,
    with_honesty,
    with_tier,
    with_wrong_patches,
)
from synth.envs.repo.making.pool.files import Tried, TriedFile, write_pool, write_task
from synth.envs.repo.making.pool.maker import Told
from synth.envs.repo.making.together import together
from synth.envs.repo.pool import Pool, RepoTask, read_pool, read_tasks
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree, unchanged_tools

TOO_EASY = "a bot mends it"
TAKES_VALUES = "its check takes code that has the expected values by heart"
TAKES_FORGED = "its check takes code that forges results"
TAKES_WRONG = "its tests take patches that are nearly right"
LEAST_REFUSED = 0.9
"""Of the wrong patches that a task was tried with, the least share that it has to refuse: one of
ten may pass, as some do what the solution does.
"""
STEPS = {REFUSED: with_wrong_patches, FORGED: with_honesty, MENDED_BY: with_tier}
"""By what a task says of it, what is tried: what costs least and takes out most comes first, and
nothing more is tried with a task that is not to stay.
"""


class GradeTally(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks by tier, of those that bots tried; how many were taken out of the pool, by why."""

    tiers: Mapping[int, int]
    dropped: Mapping[str, int]


class GradeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What stays: of tasks that a bot mends at most a share of the pool, and tasks that refuse at
    least a share of the wrong patches.
    """

    most_trivial: float = 0.2
    least_refused: float = LEAST_REFUSED


async def grade_pool(folder: Path, limits: GradeLimits, at_once: int, told: Told) -> GradeTally:
    """Takes out every task whose check does not tell a solution from patches that are nearly right,
    from its tests' expected values or from code that forges results; lets bots try the others, and
    takes out what they mend beyond a share of the pool. Raises `ConfigError`.
    """
    unchanged_tools(folder)
    pool, turn, settings = (
        read_pool(folder),
        asyncio.Semaphore(at_once),
        RepoSettings(pool=str(folder)),
    )

    async def graded(task: RepoTask) -> RepoTask:
        if _is_graded(task, limits):
            return task
        async with turn:
            for name, tried in STEPS.items():
                if name not in task.about and _unfit(task, limits) is None:
                    task = await tried(TaskTree(folder, pool.library(task.library), task), settings)
                    write_task(folder, task)
        told.kept(task)
        return task

    tasks = await together(graded(task) for task in read_tasks(folder, pool))
    dropped = _dropped(tasks, limits)
    take_out(folder, pool, dropped)
    tiers = Counter(task.tier for task in tasks if MENDED_BY in task.about)
    return GradeTally(tiers=tiers, dropped=Counter(dropped.values()))


def _dropped(tasks: list[RepoTask], limits: GradeLimits) -> dict[str, str]:
    """The ids of graded tasks that do not stay, with why."""
    unfit = {task.id: why for task in tasks if (why := _unfit(task, limits)) is not None}
    fit = [task for task in tasks if task.id not in unfit]
    return unfit | dict.fromkeys(beyond(fit, limits.most_trivial), TOO_EASY)


def _unfit(task: RepoTask, limits: GradeLimits) -> str | None:
    """Why its check makes a task unfit, as far as it was tried."""
    if REFUSED in task.about and refused_share(task) < limits.least_refused:
        return TAKES_WRONG
    takes = {BY_HEART: TAKES_VALUES, FORGED: TAKES_FORGED}
    return next((why for name, why in takes.items() if task.about.get(name) == NOT_TOLD), None)


def _is_graded(task: RepoTask, limits: GradeLimits) -> bool:
    return _unfit(task, limits) is not None or all(name in task.about for name in STEPS)


def ungraded(folder: Path, limits: GradeLimits) -> int:
    """How many tasks something is still to be tried with."""
    tasks = read_tasks(folder, read_pool(folder))
    return sum(not _is_graded(task, limits) for task in tasks)


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
