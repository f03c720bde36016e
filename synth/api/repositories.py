"""Pools of tasks out of repositories: made, and looked at."""

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from synth.api.waiting import waited
from synth.engine.progress import progress_for
from synth.engine.table import Table
from synth.envs.repo.making.pool.grading import (
    LEAST_REFUSED,
    GradeLimits,
    grade_pool,
    ungraded,
)
from synth.envs.repo.making.pool.grading import GradeTally as GradeTally
from synth.envs.repo.making.pool.maker import PoolTally as PoolTally
from synth.envs.repo.making.pool.maker import Told, WantedTasks, make_pool
from synth.envs.repo.making.pool.plan import planned
from synth.envs.repo.pool import RepoTask, read_pool, read_tasks
from synth.schemas import ConfigError

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class RepoChoice(TypedDict, total=False):
    """What pools are made of: `libraries` by name (all that are known, where nothing is named),
    `folders` of one's own, less the files of them that match `leave_out`; which `kinds` of bugs,
    how many `tasks`, drawn by `seed`, and how many bugs are tried at the same time. What is left
    out is as in `WantedTasks`.
    """

    libraries: Sequence[str]
    folders: Sequence[Path | str]
    kinds: Sequence[str]
    leave_out: Sequence[str]
    tasks: int
    seed: int
    at_once: int


def prepare_repo(
    pool: Path | str, *, quiet: bool = False, **chosen: Unpack[RepoChoice]
) -> PoolTally:
    """Makes tasks out of repositories, in the folder `pool` (`RepoChoice`).

    An interrupted call goes on where it stopped. Raises `ConfigError` for an unknown library or
    kind, for a folder that cannot be taken, and where its tests do not run; where nothing is in
    the pool then, there is none.
    """
    wanted = wanted_tasks(chosen)
    progress = progress_for(quiet=quiet)
    progress.start("repo make", wanted.tasks, "tasks")
    told = Told(say=progress.say, kept=lambda task: progress.step(1))
    try:
        return waited(make_pool(_place(pool), wanted, archives(), told))
    finally:
        progress.stop()


def plan_repo(pool: Path | str, **chosen: Unpack[RepoChoice]) -> Sequence[str]:
    """What `prepare_repo` would do, in lines; nothing is fetched, written or run."""
    return planned(_place(pool), wanted_tasks(chosen), archives())


def grade_repo(
    pool: Path | str,
    *,
    most_trivial: float = 0.2,
    least_refused: float = LEAST_REFUSED,
    at_once: int = 2,
    quiet: bool = False,
) -> GradeTally:
    """Lets bots without a model try to mend the tasks of a pool. What they mend is of tier 0, and
    at most the share `most_trivial` of the pool. Tasks are tried with patches that are nearly
    right too, and stay where the share `least_refused` of these is refused. Raises `ConfigError`.
    """
    limits = GradeLimits(most_trivial=most_trivial, least_refused=least_refused)
    folder, progress = _place(pool), progress_for(quiet=quiet)
    progress.start("repo grade", ungraded(folder, limits), "tasks")
    told = Told(say=progress.say, kept=lambda task: progress.step(1))
    try:
        return waited(grade_pool(folder, limits, at_once, told))
    finally:
        progress.stop()


def repo_tables(pool: Path | str) -> Sequence[Table]:
    """What a pool holds: by library, by kind, by tier. Raises `ConfigError`."""
    folder = Path(pool)
    found = read_pool(folder)
    tasks = list(read_tasks(folder, found))
    libraries = [
        (
            one.name,
            one.about.get("version", ""),
            one.about.get("licence", ""),
            f"{len(one.tests):,}",
            f"{sum(task.library == one.name for task in tasks):,}",
        )
        for one in found.libraries
    ]
    return [
        Table("Libraries", ("library", "version", "licence", "tests", "tasks"), libraries),
        _table("Kinds", "kind", tasks, lambda task: task.kind),
        _table("Tiers", "tier", tasks, lambda task: str(task.tier)),
    ]


def _place(pool: Path | str) -> Path:
    """A pool's folder from wherever it is looked at: confined processes stand elsewhere."""
    return Path(pool).expanduser().absolute()


def wanted_tasks(chosen: RepoChoice) -> WantedTasks:
    """The settings of a call, with names for a user's folders. Raises `ConfigError`."""
    libraries = tuple(dict.fromkeys(chosen.get("libraries", ())))
    named = dict[str, Path]()
    for folder in map(Path, chosen.get("folders", ())):
        name = folder.resolve().name.lower().replace(" ", "-")
        if not _NAME.fullmatch(name) or name in named or name in libraries:
            raise ConfigError(
                f"--folder {folder}: its name is to stand for the library, in letters, digits and "
                "'._-', once"
            )
        named[name] = folder.resolve()
    told: dict[str, Any] = {**chosen, "libraries": libraries, "folders": named}

    return WantedTasks(**told).completed()


def archives() -> Path:
    """Where source distributions are kept, for all pools."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synth" / "archives"


def _table(
    title: str, head: str, tasks: Sequence[RepoTask], of: Callable[[RepoTask], str]
) -> Table:
    """How many tasks, and what they are like, by something that they have."""
    columns = (head, "tasks", "hidden tests", "two or more functions", "failing tests (median)")
    groups: Mapping[str, int] = Counter(map(of, tasks))
    rows = []
    for name, count in sorted(groups.items()):
        mine = [task for task in tasks if of(task) == name]
        failing = sorted(len(task.failing) for task in mine)
        hidden, several = sum(bool(task.hidden) for task in mine), sum(t.sites > 1 for t in mine)
        rows.append(
            (name, *(f"{n:,}" for n in (count, hidden, several, failing[len(failing) // 2])))
        )
    return Table(title, columns, rows)
