"""Repositories in the registry: over a pool of tasks that its user names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synth.envs.repo.bots.cheats import cheats
from synth.envs.repo.bots.secrets import secrets
from synth.envs.repo.env import RepoEnv
from synth.envs.repo.starting import RepoConfig, RepoSettings
from synth.envs.repo.task_tree import pool_in, task_tree
from synth.envs.repo.tasks.mutants import otherwise, with_slips
from synth.envs.repo.tasks.of_pool import made, pinned, place_of
from synth.envs.repo.tasks.reverse import goal_of
from synth.envs.repo.tools import SPEC
from synth.envs.world import EnvEntry, EnvStart, unbound
from synth.schemas import Draft, Env, NoGoal, Task, Window

ON_DERIVED = frozenset(
    {
        "cheat_always_equal",
        "cheat_conftest_passes",
        "cheat_delete_failing_tests",
        "cheat_exit_politely",
        "cheat_stub",
    }
)
"""The cheats that every derived task is tried with: one of each sort. All of them are tried on the
pool's own tasks, whose trees these are.
"""


@dataclass(frozen=True)
class _PoolWorld:
    """What the registry asks for, over one pool."""

    settings: RepoSettings

    def open(self, config: Mapping[str, Any]) -> Env:
        """An environment with these settings."""
        return RepoEnv(SPEC, RepoConfig.model_validate(dict(config)), self.settings)

    def make_tasks(self, config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
        """At most that many tasks of the pool; the same seed gives the same ones."""
        read = RepoConfig.model_validate(dict(config))
        return tuple(made(self.settings.folder, read, seed, count, SPEC.name))

    def write_goal(self, window: Window) -> Draft | NoGoal:
        """What a window of an exploration has mended, in words."""
        read = RepoConfig.model_validate(dict(window.env_config))
        folder = self.settings.folder
        return goal_of(place_of(folder, read, None), pinned(folder, read), window)

    def exploring(self, config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
        """A broken tree by the seed."""
        return {**config, "explored_seed": seed % 2**31}

    def secrets(self, task: Task) -> Sequence[str]:
        """Lines of its hidden tests."""
        return secrets(task_tree(self.settings.folder, str(task.script["task"])))

    def start_state(self, config: Mapping[str, Any]) -> str:
        """What the pool holds."""
        return pool_in(self.settings.folder).digest


def bound(settings: RepoSettings) -> EnvEntry:
    """The world over a user's pool."""
    world = _PoolWorld(settings)
    return replace(
        WORLD,
        open=world.open,
        make_tasks=world.make_tasks,
        write_goal=world.write_goal,
        exploring=world.exploring,
        start_state=world.start_state,
        secrets=world.secrets,
        start=None,
    )


WORLD = EnvEntry(
    spec=SPEC,
    open=unbound,
    make_tasks=unbound,
    config=RepoConfig,
    told_apart_by=("explored_seed",),
    bots={name: bot for name, bot in cheats().items() if name in ON_DERIVED},
    mutants=with_slips,
    alternatives=otherwise,
    start=EnvStart(RepoSettings, bound, ("pool",)),
)
