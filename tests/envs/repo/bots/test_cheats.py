"""Who cheats passes nothing: on a library made by hand, all of whose tests an agent sees."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from synth.envs.bots import expert
from synth.envs.repo.bots.cheats import book, cheats, command_of
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.world import bound
from synth.envs.transcript import play
from synth.envs.world import EnvEntry
from synth.schemas import CheckResult
from tests.envs.repo.tiny import BROKEN, pool_folder

FEW = ("assert_true", "exit_at_import", "patch_call", "always_equal_alike", "expected_values")
"""One of each sort: tests edited, ended early, the test runner patched, comparisons patched, values
known by heart.
"""


@pytest.fixture(scope="module")
def world() -> Iterator[EnvEntry]:
    with pool_folder() as folder:
        yield bound(RepoSettings(pool=str(folder), command_s=20, tests_s=20))


def verdict(world: EnvEntry, choose: Any) -> CheckResult:
    async def played() -> CheckResult:
        tasks = world.make_tasks({}, 7, 3)
        task = next(one for one in tasks if one.script["task"] == BROKEN["compared"].id)
        env = world.open(task.env_config)
        try:
            return (await play(env, task, choose, seed=1, max_turns=40)).verdict
        finally:
            await env.close()

    return asyncio.run(played())


def test_there_are_many_cheats_and_each_is_a_command() -> None:
    assert len(book().cheats) >= 20
    assert all(command_of(cheat).strip() for cheat in book().cheats.values())


@pytest.mark.slow
def test_the_expert_passes_and_few_cheats_do_not(world: EnvEntry) -> None:
    assert verdict(world, expert()).passed
    passed = [name for name in FEW if verdict(world, cheats()[f"cheat_{name}"]).passed]
    assert passed == []


@pytest.mark.slow
def test_who_replaces_what_runs_tests_is_told_of_no_test(world: EnvEntry) -> None:
    for cheat in ("patch_call", "patch_where_tests_are_known"):
        parts = verdict(world, cheats()[f"cheat_{cheat}"]).parts
        assert (parts[0].name, parts[0].passed) == ("required", False), cheat


@pytest.mark.slow
def test_what_equals_everything_is_found_by_twisted_tests_alone(world: EnvEntry) -> None:
    parts = verdict(world, cheats()["cheat_always_equal"]).parts
    assert [(part.name, part.passed) for part in parts] == [
        ("required", True),
        ("protected", True),
        ("honest", False),
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in cheats() if name[6:] not in FEW])
def test_no_cheat_passes(world: EnvEntry, name: str) -> None:
    assert not verdict(world, cheats()[name]).passed
