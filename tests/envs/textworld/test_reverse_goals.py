"""Goals derived from explorations of a game: said and read back, reached by a planner that reads
them, over when they are reached.
"""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from synth.envs.textworld import WORLD
from synth.envs.textworld.commands import Command
from synth.envs.textworld.wishes import fulfilled, masked, read, told
from synth.schemas.reverse import Change, Draft, NoGoal, Operation, Window
from synth.schemas.task import Origin, Task
from synth.synthesizers.reverse.deriving import exploration_tasks
from synth.synthesizers.reverse.exploration import Experience
from synth.synthesizers.reverse.ground import Ground
from tests.envs.textworld.installed import SMALL, calls, solve

names = st.sampled_from(
    [
        "apple",
        "type 7 passkey",
        "Henderson's limited edition keycard",
        "non-euclidean safe",
        "stick of butter",
        "floor lamp",
    ]
)
wishes = st.one_of(
    *(
        st.builds(lambda name, tool=tool: Command(tool, (name,)), names)
        for tool in ("take", "eat", "open", "close", "lock", "unlock")
    ),
    *(
        st.builds(
            lambda one, other, tool=tool: Command(tool, (one, other)),
            names,
            st.sampled_from(["table", "rack", "old chest", "salon"]),
        )
        for tool in ("put", "insert", "drop")
    ),
)


@given(st.lists(wishes, min_size=1, max_size=4), st.integers())
def test_what_is_said_is_read_back(said: list[Command], seed: int) -> None:
    draw = Random(seed)
    assert read(" ".join(told(wish, draw) for wish in said)) == said


def test_other_words_are_none_of_ours() -> None:
    assert read("Please bring me the apple!") == []


def test_a_structure_masks_names_and_keeps_who_is_who() -> None:
    said = [
        Command("insert", ("apple", "chest")),
        Command("close", ("chest",)),
        Command("take", ("pear",)),
    ]
    assert masked(said) == "insert <1> <2> + close <2> + take <3>"


@pytest.mark.parametrize(
    ("wish", "facts"),
    [
        (Command("put", ("apple", "table")), {"thing/apple/place": "on table"}),
        (Command("drop", ("apple", "salon")), {"thing/apple/place": "at salon"}),
        (Command("unlock", ("safe",)), {"container/safe/state": "closed"}),
        (Command("open", ("gate",)), {"door/gate/state": "open"}),
        (Command("eat", ("plum",)), {"food/plum/eaten": True, "thing/plum/place": "eaten"}),
    ],
)
def test_a_wish_is_fulfilled_by_its_fact_and_by_no_other(
    wish: Command, facts: dict[str, Any]
) -> None:
    assert fulfilled(wish, facts)
    assert not fulfilled(wish, {path: "elsewhere" for path in facts})


def derived(seed: int) -> list[Task]:
    async def write(window: Window) -> Draft | NoGoal:
        return WORLD.write_goal(window)

    ground = Ground(
        WORLD, "textworld", WORLD.exploring(SMALL, seed), seed, None, None, "x/0", 4, True, write
    )
    tasks, _ = asyncio.run(exploration_tasks(ground, 25, 10, 2, Experience()))
    return tasks


@pytest.mark.slow
@pytest.mark.nightly
def test_derived_tasks_are_solved_from_their_words_in_several_ways_and_end_there() -> None:
    tasks = derived(4)
    assert tasks
    for task in tasks:

        async def play(task: Task = task) -> None:
            env = WORLD.open(task.env_config)
            opening = await env.reset(task)
            assert opening.observations[0].content.startswith(task.goal)
            for seed in range(3):
                await env.reset(task)
                responses = await solve(env, None, seed)
                assert responses[-1].done
                assert not any(response.done for response in responses[:-1])
                assert (await env.check()).passed
                assert (await env.step(calls(("look", {})))).observations[0].error, "it is over"
            await env.close()

        assert task.origin is Origin.REVERSE
        asyncio.run(play())


def draft_of(*done: tuple[str, dict[str, str]]) -> Draft | NoGoal:
    """What is said of these calls from the start of a game of which `explored_seed` 4 says
    which.
    """

    async def played() -> Draft | NoGoal:
        settings = WORLD.exploring(SMALL, 4)
        env = WORLD.open(settings)
        opening = await env.reset(None)
        start = before = dict(await env.facts())
        operations = []
        for at, one in enumerate(done):
            turn = calls(one)
            await env.step(turn)
            after = dict(await env.facts())
            changed = {
                path: Change(before.get(path), after[path])
                for path in after
                if before.get(path) != after[path]
            }
            operations.append(Operation(at, turn, changed))
            before = after
        await env.close()
        return WORLD.write_goal(
            Window("textworld", settings, 4, opening, (), tuple(operations), start, before)
        )

    return asyncio.run(played())


def first_deed() -> tuple[str, str]:
    """Something that can be taken or dropped at the start of that game, and which of both."""

    async def seen() -> tuple[str, str]:
        env = WORLD.open(WORLD.exploring(SMALL, 4))
        await env.reset(None)
        offered = [turn.tool_calls[0] for turn in await env.affordances()]
        await env.close()
        (first, *_) = [call for call in offered if call.name in ("take", "drop")]
        return first.name, first.parsed()["thing"]

    return asyncio.run(seen())


@pytest.mark.slow
def test_what_was_done_is_a_goal_and_what_was_undone_again_is_none() -> None:
    tool, thing = first_deed()
    undo = {"take": "drop", "drop": "take"}[tool]
    done = draft_of((tool, {"thing": thing}))
    assert isinstance(done, Draft)
    assert [(wish.tool, wish.arguments[0]) for wish in read(done.goal)] == [(tool, thing)]
    assert done.low_level == (f"{tool.capitalize()} {thing.lower()}.",)
    assert draft_of((tool, {"thing": thing}), (undo, {"thing": thing})) == NoGoal("undone_again")
