"""How hard the tasks of a pool are, by bots without a model; of those that they mend, few stay."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from synth.envs.repo.bots.tiers import TRIVIAL, labelled
from synth.envs.repo.making.pool.files import Tried, TriedFile, write_pool, write_task
from synth.envs.repo.making.pool.maker import Told
from synth.envs.repo.pool import Pool, RepoTask, read_pool, read_tasks
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree

MENDED_BY = "mended_by"
"""What a graded task says in its `about`: which bots mend it."""
TOO_EASY = "a bot mends it"
BY_HEART = "its check takes code that has the expected values by heart"


class GradeTally(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks by tier, those that were taken out of the pool included; how many that were, by why."""

    tiers: Mapping[int, int]
    dropped: Mapping[str, int]


async def grade_pool(folder: Path, share: float, at_once: int, told: Told) -> GradeTally:
    """Lets the bots try each task that they have not tried, and takes out what they mend beyond a
    share of the pool, and every task whose check does not tell a solution from its tests' expected
    values. Raises `ConfigError`.
    """
    pool, turn = read_pool(folder), asyncio.Semaphore(at_once)

    async def graded(task: RepoTask) -> RepoTask:
        if MENDED_BY in task.about:
            return task
        async with turn:
            place = TaskTree(folder, pool.library(task.library), task)
            found = await labelled(place, RepoSettings(pool=str(folder)))
        write_task(folder, found)
        told.kept(found)
        return found

    tasks = await asyncio.gather(*(graded(task) for task in read_tasks(folder, pool)))
    dropped = {task.id: BY_HEART for task in tasks if "by_heart" in task.about}
    told_apart = [task for task in tasks if task.id not in dropped]
    dropped |= dict.fromkeys(beyond(told_apart, share), TOO_EASY)
    take_out(folder, pool, dropped)
    return GradeTally(tiers=Counter(task.tier for task in tasks), dropped=Counter(dropped.values()))


def ungraded(folder: Path) -> int:
    """How many tasks no bot has tried."""
    pool = read_pool(folder)
    return sum(MENDED_BY not in task.about for task in read_tasks(folder, pool))


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
