"""An episode: answers, the state, snapshots, and that episodes have nothing in common."""

import asyncio
import os

import pytest

from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.policy import OPEN_LINE
from synth.schemas.task import Task
from synth.schemas.trajectory import Source, ToolCall
from tests.envs.tau2.installed import (
    DOMAINS,
    WORLD,
    begun,
    calls,
    solution,
    task_named,
    tasks,
)


def answered(env: object, turn: AgentTurn) -> list[tuple[str, bool]]:
    response = asyncio.run(env.step(turn))  # type: ignore[attr-defined]
    return [(one.content, one.error) for one in response.observations]


@pytest.mark.parametrize("name", DOMAINS)
def test_tasks_are_a_public_benchmarks_and_their_test_split_is_held_out(name: str) -> None:
    made = tasks(name, 30)
    assert {one.benchmark for one in made} == {f"tau2-bench/{name}"}
    assert {one.split for one in made} == {None, "test"}
    assert made == tasks(name, 30)
    assert {one.task_id for one in made} != {one.task_id for one in tasks(name, 30, seed=8)}


@pytest.mark.parametrize("name", DOMAINS)
def test_episodes_side_by_side_share_nothing(name: str) -> None:
    first, second = tasks(name, 2)
    alone = []
    for task in (first, second):
        env = begun(task)
        alone.append([asyncio.run(env.step(turn)) for turn in solution(task)])
    one, other = begun(first), begun(second)
    turns = [solution(first), solution(second)]
    for at in range(max(map(len, turns))):
        for env, done, told in ((one, turns[0], alone[0]), (other, turns[1], alone[1])):
            if at < len(done):
                assert asyncio.run(env.step(done[at])) == told[at]
    assert asyncio.run(begun(first).facts()) == asyncio.run(begun(first).facts())


@pytest.mark.parametrize("name", DOMAINS)
def test_a_restored_episode_goes_on_as_the_one_that_was_put_aside(name: str) -> None:
    task = max(tasks(name, 12), key=lambda one: len(one.gold or ()))
    turns = solution(task)
    env, other = begun(task), WORLD.open(task.env_config)
    for turn in turns[: len(turns) // 2]:
        asyncio.run(env.step(turn))
    asyncio.run(other.restore(asyncio.run(env.snapshot())))
    for turn in turns[len(turns) // 2 :]:
        assert asyncio.run(other.step(turn)) == asyncio.run(env.step(turn))
    assert asyncio.run(other.check()) == asyncio.run(env.check())


def test_a_bill_has_the_same_number_each_time() -> None:
    """The package draws it at random, for a customer without a draft."""
    refuel = calls(("refuel_data", {"customer_id": "C1002", "line_id": "L1004", "gb_amount": 1.0}))
    seen = set()
    for _ in range(2):
        env = begun(tasks("telecom", 1)[0])
        asyncio.run(env.step(refuel))
        facts = asyncio.run(env.facts())
        bills = {path.split("/")[1] for path in facts if path.startswith("bill/")}
        before = {
            path.split("/")[1]
            for path in asyncio.run(begun(tasks("telecom", 1)[0]).facts())
            if path.startswith("bill/")
        }
        seen.add(tuple(sorted(bills - before)))
    assert len(seen) == 1
    assert all(len(new) == 1 for new in seen)


def test_what_an_agent_writes_is_answered() -> None:
    env = begun(tasks("retail", 1)[0])
    broken = AgentTurn(tool_calls=(ToolCall.received("c", "calculate", "{"),))
    assert [error for _, error in answered(env, broken)] == [True]
    for name, given in (
        ("calculate", {"expression": "9**9**9**9"}),
        ("calculate", {"expression": "1 +" * 9_000}),
        ("no_such_tool", {}),
        ("get_user_details", {"user_id": {"a": 1}}),
        ("get_user_details", {"requestor": "user", "tool_name": "x", "self": 1}),
    ):
        ((said, error),) = answered(env, calls((name, given)))
        assert error, said
    assert answered(env, calls(("calculate", {"expression": "6 * 7"}))) == [("42.0", False)]
    assert answered(env, AgentTurn("")) == [("Say something, or use a tool.", True)]


def test_a_ticket_ends_with_done_and_nobody_hears_words() -> None:
    env = begun(tasks("telecom", 1)[0])
    ((said, error),) = answered(env, AgentTurn("Hello?"))
    assert error
    assert "done" in said
    response = asyncio.run(env.step(calls(("done", {}))))
    assert response.done
    assert answered(env, calls(("toggle_data", {})))[0][1]


@pytest.mark.parametrize("name", ["retail", "airline"])
def test_a_talk_leaves_the_customers_words_open(name: str) -> None:
    task = tasks(name, 1)[0]
    env = WORLD.open(task.env_config)
    opening = asyncio.run(env.reset(task))
    assert opening.greeting == "Hi! How can I help you today?"
    assert [one.content for one in opening.observations] == [OPEN_LINE]
    response = asyncio.run(env.step(AgentTurn("What is your name?")))
    assert [(one.content, one.source) for one in response.observations] == [
        (OPEN_LINE, Source.USER)
    ]
    assert not response.done


def test_the_customers_model_is_told_the_scenario_and_what_was_said_to_them() -> None:
    from synth.schemas.trajectory import Observation, Turn

    task = task_named("retail", "5")
    call = ToolCall.received("c", "get_user_details", "{}")
    turns = [
        Turn(0, "Hi!", (), (Observation("I want to exchange a bottle.", Source.USER),)),
        Turn(1, "One moment.", (call,), (Observation("a secret", call_id="c"),)),
        Turn(2, "Which one?", (), ()),
    ]
    assert WORLD.user is not None
    messages = WORLD.user.prompt(task, turns, OPEN_LINE)
    system, *talk = messages
    assert "water bottle" in system["content"]
    assert "###STOP###" in system["content"]
    assert [(one["role"], one["content"]) for one in talk] == [
        ("user", "Hi!"),
        ("assistant", "I want to exchange a bottle."),
        ("user", "Which one?"),
    ]
    assert WORLD.user.ends("Thanks ###STOP###")
    assert not WORLD.user.ends("Thanks")


def test_a_task_of_another_version_of_the_package_is_refused() -> None:
    made = tasks("retail", 1)[0]
    fields = {name: getattr(made, name) for name in made.__struct_fields__ if name != "task_id"}
    other = Task.identified(**{**fields, "script": {**made.script, "digest": "another"}})
    with pytest.raises(ConfigError, match="another version of the package"):
        begun(other)
    with pytest.raises(ConfigError, match="has no task 'x'"):
        begun(Task.identified(**{**fields, "script": {"task": "x"}}))


def test_nothing_of_an_env_file_is_taken_over() -> None:
    assert "PYTHON_DOTENV_DISABLED" not in os.environ
