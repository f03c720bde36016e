"""Facts, checks and the expert of an environment by the kit."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.envs.tool_env import Call, Require, Task, ToolEnv, tool
from synth.envs.tool_env.state import held, with_gone
from synth.schemas.check import Check, CheckResult, Tell
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from tests.envs.tool_env.shelf import Shelf, call, opened, played, task_of


def test_the_check_asks_for_the_facts_named_and_for_no_other_change():
    async def verdict(*turns: AgentTurn) -> tuple[bool, dict[str, bool]]:
        env = opened(Shelf)
        await played(env, *turns, task=task_of(Shelf))
        result = await env.check()
        return result.passed, {part.name: part.passed for part in result.parts}

    right, wrong = (call("put", f'{{"box": "{box}", "numbers": [4]}}') for box in ("red", "blue"))
    roll = call("roll")  # `_rolled` begins with an underscore: no fact
    assert asyncio.run(verdict()) == (False, {"required": False, "protected": True})
    assert asyncio.run(verdict(right, roll)) == (True, {"required": True, "protected": True})
    assert asyncio.run(verdict(right, wrong)) == (False, {"required": True, "protected": False})
    assert asyncio.run(verdict(right, call("paint", '{"colour": "grey"}'))) == (
        True,
        {"required": True, "protected": True},
    )


class Notes(ToolEnv):
    """You keep notes."""

    version, licence = "1", "CC0-1.0"

    def start(self, task: Task | None) -> str:
        self.notes: dict[str, str | None] = {"a": "milk", "b": None}
        return "What shall be done?"

    @tool
    def remove(self, name: str) -> str:
        """Remove a note."""
        self.notes.pop(name, None)
        return "Done."

    def tasks(self, seed: int, count: int) -> list[Task]:
        return [Task.new(self, seed, "Away with a.", Require("notes.a", None))]


@pytest.mark.parametrize(
    ("removed", "parts"),
    [
        ("", {"required": False, "protected": True}),
        ("a", {"required": True, "protected": True}),
        ("ab", {"required": True, "protected": False}),
        ("b", {"required": False, "protected": False}),
    ],
)
def test_an_entry_may_be_required_to_be_gone(removed: str, parts: dict[str, bool]) -> None:
    async def judged() -> CheckResult:
        env = opened(Notes)
        turns = [call("remove", json.dumps({"name": name})) for name in removed]
        await played(env, *turns, task=task_of(Notes))
        return await env.check()

    result = asyncio.run(judged())
    assert {part.name: part.passed for part in result.parts} == parts
    assert result.facts == {f"state/now/notes.{name}": None for name in removed}


def test_what_was_never_there_is_none() -> None:
    check = Check(required=(Require("notes.z", None).predicate(),), protected=("state/*/*",))
    assert with_gone(check, {}, {}, {}) == (check, *({"state/now/notes.z": None},) * 2)


class Desk(ToolEnv):
    """You look after orders."""

    version, licence = "1", "CC0-1.0"

    def start(self, task: Task | None) -> str:
        self.orders: dict[str, Any] = {
            "o1": {"item": "lamp", "of": {"x": 1}},
            "o2": {"item": "mug"},
        }
        self.queue: list[Any] = [["a"], 2]
        self.empty: dict[str, int] = {}
        self.told = False
        return "What shall be done?"

    @tool
    def cancel(self, order: str) -> str:
        """Cancel an order."""
        del self.orders[order]
        return "Done."

    @tool
    def blank(self, order: str) -> str:
        """Leave an order without anything."""
        self.orders[order] = {}
        return "Done."

    @tool
    def mail(self) -> str:
        """Tell the customer."""
        self.told = True
        return "Done."

    def tasks(self, seed: int, count: int) -> list[Task]:
        wanted = (Require("orders.o1", None), Require("told", True))
        return [Task.new(self, seed, "Away with o1.", *wanted)]


@pytest.mark.parametrize(
    ("turns", "parts"),
    [
        ("", {"required": False, "protected": True}),
        ("mail", {"required": False, "protected": True}),
        ("cancel o1", {"required": False, "protected": True}),
        ("cancel o1, mail", {"required": True, "protected": True}),
        ("cancel o1, cancel o2, mail", {"required": True, "protected": False}),
        ("blank o1, mail", {"required": False, "protected": False}),
    ],
)
def test_an_entry_that_holds_others_is_gone_when_it_is_gone(
    turns: str, parts: dict[str, bool]
) -> None:
    async def judged() -> CheckResult:
        env = opened(Desk)
        calls = [turn.split() for turn in turns.split(", ")] if turns else []
        asked = [call(one[0], json.dumps({"order": one[1]} if one[1:] else {})) for one in calls]
        await played(env, *asked, task=task_of(Desk))
        return await env.check()

    result = asyncio.run(judged())
    assert {part.name: part.passed for part in result.parts} == parts


def test_what_holds_nothing_is_there() -> None:
    found = {"empty": {}, "queue": [["a"], 2], "a.b": 1, "c": {"d/e": []}}
    assert {path.removeprefix("state/now/") for path in held(found)} == {
        "empty", "queue", "queue.0", "queue.0.0", "queue.1", "a.b", "c", "c.d~1e",
    }  # fmt: skip


class Nosy(Shelf):
    """A shelf that counts who asks about it."""

    def start(self, task: Task | None) -> str:
        self.asked = 0
        return super().start(task)

    def facts(self) -> dict[str, int]:
        self.asked += self.size == 1
        return {"asked": self.asked}

    def affordances(self) -> list[Call]:
        self.asked += 1
        return []


def test_questions_that_change_the_state_are_faults():
    with pytest.raises(
        RuntimeError, match=r"Nosy.facts is asked at any time, and it changed the state"
    ):
        asyncio.run(played(opened(Nosy, size=1)))
    env = opened(Nosy)
    asyncio.run(played(env))
    with pytest.raises(
        RuntimeError, match=r"Nosy.affordances is asked at any time, and it changed the state"
    ):
        asyncio.run(env.affordances())


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"a/b": 1}, "Odd.facts: the name 'a/b' has a slash in it"),
        ({"a.b": 1, "a": {"b": 2}}, "Odd.facts: 'a.b' names two facts"),
        (
            {"a": {"b": {1}}},
            "Odd.facts: a.b is of type set; a fact is text, numbers, true, false, None, and lists "
            "and dicts",
        ),
    ],
)
def test_facts_that_no_predicate_can_name_are_faults(facts: dict[str, Any], said: str):
    odd = type("Odd", (Shelf,), {"__doc__": "A shelf.", "facts": lambda self: facts})
    with pytest.raises(TypeError) as raised:
        asyncio.run(played(opened(odd)))
    assert str(raised.value).startswith(said)


def test_a_check_that_asks_for_more_than_facts_is_refused_before_the_first_turn():
    check = Check(told=(Tell("number", 4),))
    task = msgspec.structs.replace(task_of(Shelf), check=check)
    with pytest.raises(
        ValueError, match="a ToolEnv checks facts; this task's check asks for more than those"
    ):
        asyncio.run(played(opened(Shelf), task=task))


def test_the_expert_makes_the_next_gold_call_whatever_was_called_between():
    async def planned(*turns: AgentTurn) -> str:
        env = opened(Shelf)
        await played(env, *turns, task=task_of(Shelf))
        turn = await env.expert()
        return turn.tool_calls[0].name if turn.tool_calls else str(turn.content)

    look, right, wrong = (
        call("look"),
        call("put", '{"numbers": [4], "box": "red"}'),
        call("put", '{"box": "red", "numbers": [13]}'),
    )
    assert (
        asyncio.run(planned())
        == asyncio.run(planned(call("roll")))
        == asyncio.run(planned(right))
        == "look"
    )
    assert asyncio.run(planned(look)) == asyncio.run(planned(look, wrong, call("roll"))) == "put"
    assert (
        asyncio.run(planned(look, right))
        == asyncio.run(planned(look, right, look))
        == "That is done."
    )


def test_no_expert_knows_a_task_without_gold_calls_or_a_profile_of_another_name():
    env = opened(Shelf)
    asyncio.run(played(env, task=msgspec.structs.replace(task_of(Shelf), gold=None)))
    with pytest.raises(ValueError, match="no expert knows this task: it has no gold calls"):
        asyncio.run(env.expert())
    with pytest.raises(
        ValueError, match="has no expert profile 'careless'; it has correct and mixed"
    ):
        asyncio.run(env.expert("careless"))


class Plates(Shelf):
    """A shelf with keys that agents choose."""

    def start(self, task: Task | None) -> str:
        self.due: dict[str, int] = {}
        return super().start(task)

    @tool
    def owe(self, plate: str) -> str:
        """Write down a debt."""
        self.due[plate] = 1
        return "Noted."


@pytest.mark.slow
@given(keys=st.lists(st.text(alphabet="ab./~", min_size=1), unique=True))
def test_no_key_that_an_agent_chooses_spoils_the_facts(keys: list[str]) -> None:
    async def facts() -> Mapping[str, object]:
        env = opened(Plates)
        turns = [call("owe", json.dumps({"plate": key})) for key in keys]
        await played(env, *turns)
        return await env.facts()

    found = asyncio.run(facts())
    owed = {name for name in found if name.startswith("state/now/due.")}
    assert len(owed) == len(keys)
    for key in keys:
        name = key.replace("~", "~0").replace("/", "~1").replace(".", "~2")
        assert found[f"state/now/due.{name}"] == 1


def test_a_value_that_holds_others_is_refused_where_it_is_required() -> None:
    with pytest.raises(
        ConfigError, match=r"Require\('gone.X'\): the value is a dict; .*`gone.X.NAME`"
    ):
        Require("gone.X", {"level": 1})  # type: ignore[arg-type]
