"""State, snapshots, keys, faults, ends and checks of an environment by the kit."""

import asyncio
import math
from random import Random
from typing import Any

import pytest

from synth.envs.tool_env import Require, Task, ToolEnv, tool, world_of
from synth.envs.tool_env.state import key_of
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.trajectory import Source, ToolCall
from tests.envs.tool_env.shelf import COLOURS, Shelf, answers, call, opened, played, task_of


class Broken(Shelf):
    """A shelf with faults of its own."""

    def start(self, task: Task | None) -> str:
        self.seen: Any = 0
        return super().start(task)

    @tool
    def crash(self) -> str:
        """Divide by zero."""
        return str(1 // 0)

    @tool
    def gather(self) -> str:
        """Keep a set."""
        self.seen = [{"x": {1, 2}}]
        return "kept"

    @tool
    def hide(self) -> str:
        """Keep something under the name of a tool."""
        vars(self)["look"] = "boxes"
        return "hidden"

    @tool
    def spoil(self) -> str:
        """Keep what is no number."""
        self.seen = {"share": math.nan}
        return "kept"

    @tool
    def share(self) -> str:
        """Keep a box under a second name."""
        self.seen = self.boxes["red"]
        return "shared"

    @tool
    def resize(self) -> str:
        """Change a setting."""
        self.size = 9
        return "resized"

    @tool(read_only=True)
    def peek(self) -> str:
        """Say that it only looks."""
        self.seen += 1
        return "seen"


@pytest.mark.parametrize(
    ("name", "raised", "said"),
    [
        ("crash", ZeroDivisionError, "by zero"),
        (
            "gather",
            TypeError,
            r"Broken.seen\[0\]\['x'\] is of type set; the state of an environment is text, "
            r"numbers, ",
        ),
        ("spoil", TypeError, r"Broken.seen\['share'\] is nan; the state"),
        ("hide", TypeError, "Broken.look is a tool; give what is kept another name"),
        ("resize", RuntimeError, "Broken changed a setting; what an episode changes is state"),
        ("peek", RuntimeError, "Broken.peek is read_only, and it changed the state"),
    ],
)
def test_what_the_author_did_wrong_is_a_fault_and_no_answer(name, raised, said):
    with pytest.raises(raised, match=said):
        answers(Broken, call(name))


def test_going_on_from_a_snapshot_is_going_on_with_the_same_chance():
    async def rolled() -> tuple[list[Response], list[Response], list[Response]]:
        env, fresh = opened(Shelf), opened(Shelf)
        put, roll = call("put", '{"box": "red", "numbers": [4]}'), call("roll")
        before = await played(env, put, roll, task=task_of(Shelf))
        snapshot = await env.snapshot()
        on = [await env.step(roll), await env.step(call("look"))]
        await fresh.reset(task_of(Shelf, 9))
        await fresh.restore(snapshot)
        assert await fresh.check() == await env.check()
        return before, on, [await fresh.step(roll), await fresh.step(call("look"))]

    before, on, again = asyncio.run(rolled())
    assert on == again
    assert before[-1].observations != on[0].observations


def test_two_names_for_one_list_are_two_lists_with_and_without_a_snapshot():
    async def facts() -> list[Any]:
        env, other = opened(Broken), opened(Broken)
        await played(env, call("share"))
        await other.restore(await env.snapshot())
        found = []
        for each in (env, other):
            await each.step(call("put", '{"box": "red", "numbers": [1]}'))
            found.append(await each.facts())
        return found

    expected = {"state/now/boxes.red.0": 1, "state/now/paint_is": "none"}
    assert asyncio.run(facts()) == [expected, expected]


class Safe(ToolEnv):
    """A safe."""

    version, licence = "1", "CC0-1.0"

    def start(self, task: Task | None) -> str:
        self.code = self.rng.randint(1, 1000)
        return "Open it."

    @tool
    def roll(self) -> int:
        """Roll a die."""
        return self.rng.randint(1, 1000)

    def tasks(self, seed: int, count: int) -> list[Task]:
        return [
            Task.new(self, self.rng.randrange(2**70), "Open it.", Require("code", 1))
            for _ in range(count)
        ]


def test_chance_is_that_of_the_task_and_the_same_for_who_makes_it():
    async def drawn(task: Task | None) -> tuple[Any, str]:
        env = opened(Safe)
        response = (await played(env, call("roll"), task=task))[0]
        return (await env.facts())["state/now/code"], response.observations[0].content

    def by_hand(seed: int) -> tuple[int, str]:
        chance = Random(seed)
        return chance.randint(1, 1000), str(chance.randint(1, 1000))

    for task in world_of(Safe).make_tasks({}, 5, 3):
        assert 0 <= task.seed < 2**63
        assert asyncio.run(drawn(task)) == by_hand(task.seed)
        assert (
            Safe().begun(task.seed).code
            == Safe().begun(task.seed + 2**63).code
            == by_hand(task.seed)[0]
        )
    assert asyncio.run(drawn(None)) == by_hand(0)
    assert world_of(Safe).make_tasks({}, 5, 1)[0].seed == Random(5).randrange(2**70) % 2**63


def test_states_that_differ_in_what_chance_brings_next_have_two_keys():
    first, second = asyncio.run(played(opened(Safe), call("roll"), call("roll")))
    assert first.state_key != second.state_key


def test_a_snapshot_of_another_environment_is_refused():
    snapshot = asyncio.run(_snapshot(Shelf))
    with pytest.raises(
        ValueError,
        match=r"a snapshot of tests.envs.tool_env.shelf:Shelf 1 does not fit .*:Broken 1",
    ):
        asyncio.run(opened(Broken).restore(snapshot))


async def _snapshot(kind: type[ToolEnv]) -> Any:
    env = opened(kind)
    await env.reset(None)
    return await env.snapshot()


def test_equal_states_have_one_key_however_they_came_about():
    def key(*turns: AgentTurn) -> str | None:
        return asyncio.run(played(opened(Shelf), *turns))[-1].state_key

    one, other = (call("put", f'{{"box": "{box}", "numbers": [1]}}') for box in ("red", "blue"))
    assert key(one, other) == key(other, one) == key(other, call("look"), one)
    assert key_of(b'[{"a":1,"b":[2,3]},null]', done=False) == key_of(
        b'[{"b":[2,3],"a":1},null]', done=False
    )
    assert (
        len({key(one), key(other), key(one, other), key(call("roll")), key(AgentTurn("Done."))})
        == 5
    )


def test_nothing_is_shared_with_the_module_or_another_episode():
    before = {name: list(there) for name, there in COLOURS.items()}
    answers(Shelf, call("put", '{"box": "red", "numbers": [1]}'))
    assert before == COLOURS
    assert answers(Shelf, call("look"))[0].content == '{"red":[],"blue":[]}'


def test_words_end_the_episode_and_nothing_follows():
    env = opened(Shelf)
    responses = asyncio.run(
        played(
            env,
            AgentTurn(" \n"),
            AgentTurn("Wait."),
            AgentTurn("Done."),
            call("look"),
            AgentTurn("Hm."),
        )
    )
    said = [
        tuple((o.content, o.source, o.error) for o in response.observations)
        for response in responses
    ]
    assert said == [
        (("An empty turn does nothing: call a tool, or say something.", Source.ENVIRONMENT, True),),
        (("I wait.", Source.USER, False),),
        (),
        (("The episode is over; nothing more can be done.", Source.TOOL, True),),
        (("The episode is over; nothing more can be done.", Source.ENVIRONMENT, True),),
    ]
    assert [response.done for response in responses] == [False, False, True, True, True]


def test_a_tool_that_ends_ends_the_calls_beside_it_too():
    calls = (ToolCall.received("a", "leave", "{}"), ToolCall.received("b", "look", "{}"))
    (response,) = asyncio.run(played(opened(Shelf), AgentTurn(tool_calls=calls)))
    assert response.done
    assert [(o.call_id, o.error) for o in response.observations] == [("a", False), ("b", True)]
