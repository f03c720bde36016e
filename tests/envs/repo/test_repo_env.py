"""Episodes in a small library of ours that is broken in six ways."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.envs.bots import BOTS, expert
from synth.envs.episode import call_turn
from synth.envs.repo.repair.erring import MISCONCEPTIONS
from synth.envs.transcript import Transcript, perform, play
from synth.envs.world import EnvEntry
from synth.schemas import ConfigError, Snapshot, Task

pytestmark = pytest.mark.slow
World = Callable[..., EnvEntry]
SHIPPING = "def total(prices, shipping=490):"


def task_of(world: EnvEntry, file: str) -> Task:
    """The task with one edit, in a file."""
    tests = f"test_{file}.py"
    found = [
        task
        for task in world.make_tasks({}, 0, 9)
        if task.check is not None
        and len(task.check.required) == 1
        and tests in str(task.check.required[0].where["id"])
    ]
    return found[0]


async def done(world: EnvEntry, task: Task, *acts: tuple[str, dict[str, str]]) -> Transcript:
    """An episode of some calls, handed in."""
    env = world.open({})
    turns = [call_turn(at, *act) for at, act in enumerate([*acts, ("submit", {})])]
    try:
        return await perform(env, task, turns)
    finally:
        await env.close()


def seen(world: EnvEntry, *commands: str) -> list[str]:
    """What commands say, one after the other."""
    task = world.make_tasks({}, 0, 1)[0]
    acts: Sequence[tuple[str, dict[str, str]]] = [("bash", {"command": one}) for one in commands]
    found = asyncio.run(done(world, task, *acts))
    return [response.observations[0].content for response in found.responses[:-1]]


def played(world: EnvEntry, task: Task, who: Any, seed: int = 0) -> Transcript:
    """An episode by a policy."""

    async def episode() -> Transcript:
        env = world.open({})
        try:
            return await play(env, task, who, seed=seed, max_turns=40)
        finally:
            await env.close()

    return asyncio.run(episode())


def test_the_expert_mends_every_tree_and_who_does_nothing_none(repo_world: World) -> None:
    world = repo_world()
    tasks = world.make_tasks({}, 0, 9)
    assert len(tasks) == 6
    assert all(played(world, task, expert("correct")).verdict.passed for task in tasks)
    assert not any(played(world, task, BOTS["refuse_all"]).verdict.passed for task in tasks)


@pytest.mark.parametrize("profile", MISCONCEPTIONS)
def test_misconceptions_fail_but_for_the_one_that_costs_turns(
    profile: str, repo_world: World
) -> None:
    world = repo_world()
    found = played(world, task_of(world, "loans"), expert(profile))
    assert found.responses[-1].done
    assert found.verdict.passed == (profile == "wrong_file_first")


def test_directory_and_exported_variables_are_carried_and_processes_are_not(
    repo_world: World,
) -> None:
    said = seen(
        repo_world(),
        "cd shelf && export WHO='a b' && other=1",
        'pwd; echo "$WHO$other"; sleep 60 & echo began',
        "ps -e | grep -c sleep; exit 3",
        "unset WHO; export PATH=/nowhere",
        'echo "$PATH ${WHO-unset}"; ls',
    )
    assert said == [
        "(no output)",
        "/repo/shelf\na b\nbegan",
        "0\n[exit code 3]",
        "(no output)",
        "/nowhere unset\nbash: line 1: ls: command not found\n[exit code 127]",
    ]


def test_a_command_that_takes_too_long_is_stopped_and_the_next_one_runs(repo_world: World) -> None:
    world = repo_world(command_s=1.0)
    assert seen(world, "echo began; sleep 30", "echo on") == ["began\n[stopped after 1 s]", "on"]


def test_what_writes_more_than_a_snapshot_holds_is_undone_and_no_fault(repo_world: World) -> None:
    much = "for i in 1 2 3; do head -c 40000000 /dev/zero > much$i; done"
    told = seen(repo_world(), "echo one > kept", much, "ls much* kept")
    assert told[1] == "[stopped: too much was written; the tree is as it was before]"
    assert told[2].splitlines()[-2:] == ["kept", "[exit code 2]"]


def test_nothing_tells_where_the_pool_lies(repo_world: World, pool_folder: Path) -> None:
    said = seen(
        repo_world(),
        "env; which python; python -c 'import sys; print(sys.path)'",
        "ls /tmp / /tools",
    )
    assert str(pool_folder) not in "\n".join(said)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_prices.py", "def test_shipping_is_free_from_fifty_on(): pass\n"),
        ("conftest.py", "def pytest_collection_modifyitems(items): items.clear()\n"),
        ("tests/conftest.py", "import os; os._exit(0)\n"),
        ("sitecustomize.py", "import os; os._exit(0)\n"),
        ("pytest.ini", "[pytest]\naddopts = --co\n"),
        ("pytest.py", "def main(*a, **k): return 0\n"),
    ],
)
def test_files_that_are_no_source_have_no_effect(path: str, text: str, repo_world: World) -> None:
    world = repo_world()
    task = task_of(world, "prices")
    write = f"mkdir -p tests && cat > {path} <<'END'\n{text}END"
    cheated = asyncio.run(done(world, task, ("bash", {"command": write})))
    right = ("replace", {"path": "shelf/prices.py", "old": "goods > FREE", "new": "goods >= FREE"})
    mended = asyncio.run(done(world, task, ("bash", {"command": write}), right))
    assert [cheated.verdict.passed, mended.verdict.passed] == [False, True]


def test_a_source_that_ends_the_tests_passes_none(repo_world: World) -> None:
    world = repo_world()
    ends = (
        "replace",
        {"path": "shelf/prices.py", "old": SHIPPING, "new": f"import os; os._exit(0)\n{SHIPPING}"},
    )
    verdict = asyncio.run(done(world, task_of(world, "prices"), ends)).verdict
    assert {part.name: part.passed for part in verdict.parts} == {
        "required": False,
        "protected": False,
    }


def test_a_mended_test_with_another_broken_fails_in_the_protected_part(repo_world: World) -> None:
    world = repo_world()
    right = ("replace", {"path": "shelf/prices.py", "old": "goods > FREE", "new": "goods >= FREE"})
    wrong = ("replace", {"path": "shelf/prices.py", "old": "// 100\n", "new": "// 10\n"})
    verdict = asyncio.run(done(world, task_of(world, "prices"), right, wrong)).verdict
    assert {part.name: part.passed for part in verdict.parts} == {
        "required": True,
        "protected": False,
    }


def test_a_restored_tree_is_the_replayed_one_at_every_turn(repo_world: World) -> None:
    world = repo_world()
    task = task_of(world, "titles")
    acts: list[tuple[str, dict[str, str]]] = [
        ("bash", {"command": "cd shelf && export A=1 && rm loans.py && ln -s titles.py t.py"}),
        ("replace", {"path": "shelf/titles.py", "old": "ARTICLES = ", "new": "ARTICLES = () + "}),
        (
            "bash",
            {
                "command": "mkdir -p new/deep && printf 'a\\0b' > new/deep/x && chmod +x "
                "../README.md"
            },
        ),
        ("bash", {"command": "git init -q . ; cat prices.py > titles.py; rm -r new; unset A"}),
        ("replace", {"path": "shelf/loans.py", "old": "", "new": "DAYS = 1\n"}),
    ]

    async def compared() -> None:
        env, other = world.open({}), world.open({})
        await env.reset(task)
        snapshots: list[tuple[Snapshot, str | None]] = [(await env.snapshot(), None)]
        for at, act in enumerate(acts):
            response = await env.step(call_turn(at, *act))
            snapshots.append((await env.snapshot(), response.state_key))

        sums = "pwd; find /repo -type f | sort | xargs md5sum; env | grep ^A="
        look = call_turn(99, "bash", {"command": sums})
        for at in (5, 0, 3, 1, 4, 2):
            again = world.open({})
            await again.reset(task)
            for number, act in enumerate(acts[:at]):
                await again.step(call_turn(number, *act))
            await other.restore(snapshots[at][0])
            await env.restore(snapshots[at][0])
            said = [await one.step(look) for one in (again, other, env)]
            assert said[0] == said[1] == said[2]
            await again.close()

        await env.close()
        await other.close()

    asyncio.run(compared())


def test_a_snapshot_stands_alone(repo_world: World) -> None:
    world = repo_world()
    task = task_of(world, "titles")

    async def blob() -> bytes:
        env = world.open({})
        await env.reset(task)
        await env.step(call_turn(0, "bash", {"command": "echo new > shelf/new.py"}))
        found = await env.snapshot()
        await env.close()
        return found.blob

    saved = msgspec.json.decode(asyncio.run(blob()))
    assert saved["changes"].keys() == {"shelf/new.py"}
    assert json.dumps(saved).count("/bases/") == 0


def test_another_pool_is_told(repo_world: World) -> None:
    world = repo_world()
    task = world.make_tasks({}, 0, 1)[0]
    other = msgspec.structs.replace(task, env_config={"digest": "of another one"})
    with pytest.raises(ConfigError, match="another one now"):
        asyncio.run(world.open({}).reset(other))


def test_settings_choose_tasks(repo_world: World) -> None:
    world = repo_world()
    assert len(world.make_tasks({"kinds": ["pair"]}, 0, 9)) == 2
    with pytest.raises(ConfigError, match="no task"):
        world.make_tasks({"libraries": ["other"]}, 0, 9)
