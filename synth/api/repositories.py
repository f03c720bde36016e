"""Pools of tasks out of repositories: made, and looked at."""

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from synth.api.waiting import waited
from synth.engine.progress import progress_for
from synth.engine.table import Table
from synth.envs.repo.making.pool.grading import GradeTally as GradeTally
from synth.envs.repo.making.pool.grading import grade_pool, ungraded
from synth.envs.repo.making.pool.maker import PoolTally as PoolTally
from synth.envs.repo.making.pool.maker import Told, WantedTasks, make_pool
from synth.envs.repo.making.pool.plan import planned
from synth.envs.repo.pool import RepoTask, read_pool, read_tasks
from synth.schemas import ConfigError

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def prepare_repo(
    pool: Path | str,
    *,
    libraries: Sequence[str] = (),
    folders: Sequence[Path | str] = (),
    kinds: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    tasks: int = 40,
    seed: int = 7,
    at_once: int = 2,
    quiet: bool = False,
) -> PoolTally:
    """Makes tasks out of repositories, in the folder `pool`: libraries by name (all that are known,
    where nothing is named) and folders of one's own.

    An interrupted call goes on where it stopped. Raises `ConfigError` for an unknown library or
    kind, for a folder that cannot be taken, and where its tests do not run.
    """
    wanted = wanted_tasks(libraries, folders, kinds, leave_out, tasks, seed, at_once)
    progress = progress_for(quiet=quiet)
    progress.start("repo make", tasks, "tasks")
    told = Told(say=progress.say, kept=lambda task: progress.step(1))
    try:
        return waited(make_pool(Path(pool), wanted, archives(), told))
    finally:
        progress.stop()


def plan_repo(
    pool: Path | str,
    *,
    libraries: Sequence[str] = (),
    folders: Sequence[Path | str] = (),
    kinds: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    tasks: int = 40,
    seed: int = 7,
    at_once: int = 2,
) -> Sequence[str]:
    """What `prepare_repo` would do, in lines; nothing is fetched, written or run."""
    wanted = wanted_tasks(libraries, folders, kinds, leave_out, tasks, seed, at_once)
    return planned(Path(pool), wanted, archives())


def grade_repo(
    pool: Path | str, *, most_trivial: float = 0.2, at_once: int = 2, quiet: bool = False
) -> GradeTally:
    """Lets bots without a model try to mend the tasks of a pool. What they mend is of tier 0, and
    at most the share `most_trivial` of the pool. Raises `ConfigError`.
    """
    progress = progress_for(quiet=quiet)
    progress.start("repo grade", ungraded(Path(pool)), "tasks")
    told = Told(say=progress.say, kept=lambda task: progress.step(1))
    try:
        return waited(grade_pool(Path(pool), most_trivial, at_once, told))
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


def wanted_tasks(
    libraries: Sequence[str],
    folders: Sequence[Path | str],
    kinds: Sequence[str],
    leave_out: Sequence[str],
    tasks: int,
    seed: int,
    at_once: int,
) -> WantedTasks:
    """The settings of a call, with names for a user's folders. Raises `ConfigError`."""
    named = dict[str, Path]()
    for folder in map(Path, folders):
        name = folder.resolve().name.lower().replace(" ", "-")
        if not _NAME.fullmatch(name) or name in named or name in libraries:
            raise ConfigError(
                f"--folder {folder}: its name is to stand for the library, in letters, digits and "
                "'._-', once"
            )
        named[name] = folder.resolve()
    return WantedTasks(
        libraries=tuple(dict.fromkeys(libraries)),
        folders=named,
        kinds=tuple(kinds),
        leave_out=tuple(leave_out),
        tasks=tasks,
        seed=seed,
        at_once=at_once,
    ).completed()


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
