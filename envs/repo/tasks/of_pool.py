"""Tasks out of a pool, in an order by seed."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from synth.envs.repo.checking import check_of
from synth.envs.repo.pool import RepoTask, read_tasks
from synth.envs.repo.starting import RepoConfig
from synth.envs.repo.task_tree import TaskTree, pool_in, task_tree
from synth.schemas import ConfigError, Task


def made(folder: Path, config: RepoConfig, seed: int, count: int, name: str) -> Iterator[Task]:
    """At most `count` tasks of those that the settings choose."""
    for chosen in ordered(folder, config, seed)[:count]:
        place = task_tree(folder, chosen)
        yield Task.identified(
            env=name,
            env_config=pinned(folder, config),
            goal=place.task.goal,
            check=check_of(place),
            script={"task": chosen},
        )


def ordered(folder: Path, config: RepoConfig, seed: int) -> list[str]:
    """The ids of the chosen tasks, in an order by seed. Raises `ConfigError` where there is
    none.
    """
    pool = pool_in(folder)
    found = [one.id for one in read_tasks(folder, pool) if _is_chosen(one, config)]
    if not found:
        raise ConfigError(f"{folder}: the pool has no task of these kinds, libraries and tiers")

    found.sort()
    Random(f"repo {seed}").shuffle(found)

    return found


def place_of(folder: Path, config: RepoConfig, task: Task | None) -> TaskTree:
    """The tree that an episode takes place in; without a task, the one to explore.

    Raises `ConfigError` where the task is of another pool.
    """
    if task is None:
        return task_tree(folder, ordered(folder, config, config.explored_seed)[0])

    place = task_tree(folder, str(task.script.get("task")))
    pinned_to = task.env_config.get("digest")
    if pinned_to is not None and pinned_to != pool_in(folder).digest:
        raise ConfigError("the pool of this task is another one now: make its tasks anew")

    narrowed = task.script.get("wanted")
    return place.narrowed(narrowed) if narrowed else place


def pinned(folder: Path, config: RepoConfig) -> dict[str, object]:
    """Settings with the pool that they are about, without what changes nothing in a task."""
    settings = config.model_dump(mode="json", exclude_defaults=True, exclude={"explored_seed"})
    return {**settings, "digest": pool_in(folder).digest}


def _is_chosen(task: RepoTask, config: RepoConfig) -> bool:
    """Whether the settings take a task."""
    asked = (
        (config.kinds, task.kind),
        (config.libraries, task.library),
        (config.tiers, task.tier),
    )
    return all(not among or one in among for among, one in asked)
