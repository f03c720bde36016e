"""TextWorld: games by seed, typed tools, a check on facts, a plan that is mended, and nothing that
gets past the tools.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from synth.envs.textworld import WORLD, games
from synth.envs.textworld.commands import DIRECTIONS, TOOLS
from synth.schemas.errors import ConfigError, SynthError
from tests.envs.conformance.checks import conformance
from tests.envs.textworld.installed import SMALL, calls, played, solve, tasks


@pytest.mark.slow
@pytest.mark.nightly
def test_it_passes_the_conformance_suite() -> None:
    findings = asyncio.run(conformance(WORLD, SMALL | {"quest_length": 5}, seed=3, tasks=2))
    unasked = {"own_bots_fail", "secrets_stay_hidden"}  # of worlds that name neither
    assert {one.name for one in findings if one.passed is not True} <= unasked
    assert not any(one.passed is False for one in findings)


@pytest.mark.slow
@pytest.mark.nightly
def test_held_out_games_are_others_and_their_tasks_say_so() -> None:
    (train,), (held_out,) = tasks(1), tasks(1, split="held_out")
    assert (train.split, held_out.split) == (None, "held_out")
    assert train.script != held_out.script


@pytest.mark.slow
def test_no_key_of_ours_reaches_the_process_that_makes_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(
        games,
        "_WORKER",
        "import os, sys; sys.exit(' '.join(f'{n}={v}' for n, v in os.environ.items() if 'hunter2' "
        "in v) or 'none')",
    )
    with pytest.raises(SynthError, match="could not be made: none;"):
        tasks(1)


@pytest.mark.slow
def test_a_task_whose_game_has_changed_is_refused_in_one_line() -> None:
    (task,) = tasks(1)
    with pytest.raises(ConfigError, match="another version of TextWorld"):
        played(msgspec.structs.replace(task, script={"game": "other"}), lambda env: env.check())


@pytest.mark.slow
def test_the_goal_names_the_end_and_not_the_way_there() -> None:
    for task in tasks(2):
        last = task.gold[-1].parsed()
        assert any(name in task.goal for name in last.values())
        earlier = (
            {name for call in task.gold[:-1] for name in call.parsed().values()}
            - set(last.values())
            - set(DIRECTIONS)
        )
        assert not [name for name in earlier if name in task.goal]


@pytest.mark.slow
def test_the_gold_actions_pass_and_without_the_last_one_they_do_not() -> None:
    for task in tasks(2):

        async def perform(env, actions):
            for call in actions:
                await env.step(calls((call.name, call.parsed())))
            return await env.check()

        assert played(task, lambda env, task=task: perform(env, task.gold)).passed
        assert not played(task, lambda env, task=task: perform(env, task.gold[:-1])).passed


@pytest.mark.slow
@pytest.mark.nightly
def test_food_that_nobody_asked_for_may_not_be_eaten() -> None:
    found = 0
    for task in tasks(4, objects=14):
        if any(call.name == "eat" for call in task.gold):
            continue

        async def feast(env):
            eaten = None
            for _ in range(60):
                turns = {turn.tool_calls[0]: turn for turn in await env.affordances()}
                names = {call.parsed()["thing"] for call in turns if call.name == "eat"}
                if names and eaten is None:
                    eaten = sorted(names)[0]
                    await env.step(calls(("eat", {"thing": eaten})))
                foods = {
                    path.split("/")[1] for path in await env.facts() if path.startswith("food/")
                }
                take = [
                    turn
                    for call, turn in turns.items()
                    if call.name == "take" and call.parsed()["thing"] in foods
                ]
                if (await env.step(take[0] if take and eaten is None else await env.expert())).done:
                    break
            return eaten, await env.check()

        eaten, result = played(task, feast)
        if eaten is not None and result.facts.get("quest/0/completed"):
            found += 1
            assert not result.passed
            assert {part.name: part.passed for part in result.parts} == {
                "required": True,
                "protected": False,
            }
            assert result.parts[1].evidence == (f"food/{eaten}/eaten",)
    assert found


@pytest.mark.slow
def test_the_expert_finds_back_from_wherever_it_wandered() -> None:
    for seed in range(3):
        for task in tasks(2):
            responses = played(task, lambda env, seed=seed: solve(env, "wanders", seed))
            assert responses[-1].done


META = ("save", "quit", "restart", "script", "look. save", "chest then quit", "all", "me", "it")
NASTY = (*META, "a\x00b", "\x1b[2J", "box\nquit", "\ud800", "x" * 5000)


@pytest.mark.slow
@pytest.mark.parametrize("tool", [tool["function"]["name"] for tool in TOOLS])
def test_nothing_but_the_games_own_names_reaches_the_interpreter(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (task,) = tasks(1)
    arguments = next(
        t["function"]["parameters"]["required"] for t in TOOLS if t["function"]["name"] == tool
    )

    async def attack(env):
        before = await env.facts()
        answers = [
            o
            for text in NASTY
            for o in (await env.step(calls((tool, dict.fromkeys(arguments, text))))).observations
        ]
        after = (await env.step(calls(("look", {})))).observations[0]
        return before == await env.facts(), answers, after

    unchanged, answers, after = played(task, attack)
    if arguments:
        assert unchanged
        assert all(answer.error for answer in answers)
    assert not after.error
    assert after.content.startswith("-= ")
    assert list(tmp_path.iterdir()) == [], "save and script write files"


@pytest.mark.slow
def test_things_elsewhere_or_hidden_are_answered_as_things_that_do_not_exist() -> None:
    for task in tasks(2):

        async def ask(env):
            here = {
                name
                for turn in await env.affordances()
                for name in turn.tool_calls[0].parsed().values()
            }
            everything = {
                path.split("/")[1] for path in await env.facts() if path.startswith("thing/")
            }
            hidden = sorted(everything - here)
            return [
                (await env.step(calls(("examine", {"thing": name})))).observations[0]
                for name in (*hidden, "unicorn")
            ]

        answers = played(task, ask)
        assert {(answer.content, answer.error) for answer in answers} == {
            ("You can't see any such thing.", True)
        }


@pytest.mark.slow
def test_articles_and_case_are_forgiven() -> None:
    for task in tasks(2):

        async def name_it(env):
            turn = next(
                turn for turn in await env.affordances() if turn.tool_calls[0].name == "examine"
            )
            name = turn.tool_calls[0].parsed()["thing"]
            return [
                (await env.step(calls(("examine", {"thing": said})))).observations[0]
                for said in (name, f"The {name.upper()}")
            ]

        plain, shouted = played(task, name_it)
        assert plain.content == shouted.content
        assert not plain.error


@pytest.mark.slow
def test_a_call_after_the_winning_one_is_answered_by_an_error() -> None:
    (task,) = tasks(1)

    async def win(env):
        for call in task.gold[:-1]:
            await env.step(calls((call.name, call.parsed())))
        return await env.step(calls((task.gold[-1].name, task.gold[-1].parsed()), ("look", {})))

    response = played(task, win)
    assert response.done
    assert [o.error for o in response.observations] == [False, True]


@pytest.mark.slow
def test_a_profile_that_is_not_known_is_refused() -> None:
    (task,) = tasks(1)
    with pytest.raises(ConfigError, match="no expert profile 'lazy'"):
        played(task, lambda env: env.expert("lazy", 0))


@pytest.mark.slow
@pytest.mark.nightly
def test_a_seed_makes_the_same_game_wherever_textworld_is_installed(tmp_path: Path) -> None:
    """Its grammars are read from there, and their place must be no part of a game: tasks and seeds
    hang on its digest.
    """
    here = Path(str(find_spec("textworld").origin)).parent  # type: ignore[union-attr]
    shutil.copytree(here, tmp_path / "elsewhere" / "textworld")
    code = (
        "from synth.envs.textworld.config import TextWorldConfig\nfrom synth.envs.textworld.games "
        "import made_games\n"
        "print([made.digest for made in made_games(TextWorldConfig(), [5, 6])])"
    )
    root = Path(__file__).resolve().parents[3]
    paths = [[str(root)], [str(tmp_path / "elsewhere"), str(root)]]
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(path),
                "SYNTH_STATE_DIR": str(tmp_path / f"state{at}"),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for at, path in enumerate(paths)
    ]
    assert said[0] == said[1]
    assert len(said[0]) > 40
