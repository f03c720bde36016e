"""The echo world: its verdicts, its planned trouble, its weight."""

import asyncio
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synth.envs.echo import WORDS, WORLD, make_tasks, open_echo
from synth.schemas.check import Check, RowPredicate
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall


def echo(text, call_id="c"):
    return AgentTurn(tool_calls=(ToolCall.received(call_id, "echo", f'{{"text": "{text}"}}'),))


FINISH = AgentTurn(tool_calls=(ToolCall.received("f", "finish", "{}"),))


def verdict(config, task, *turns):
    async def episode():
        env = open_echo(config)
        await env.reset(task)
        for turn in turns:
            await env.step(turn)
        return await env.check()

    return asyncio.run(episode())


def task_of(*words):
    rows = [
        RowPredicate("said", {"id": str(place), "text": word}) for place, word in enumerate(words)
    ]
    return Task.identified(
        env="echo",
        goal="Echo these words.",
        check=Check(required=(*rows, RowPredicate("session", {"id": "0", "finished": True}))),
    )


def test_the_words_in_order_then_finish_pass():
    assert verdict({}, task_of("a", "b"), echo("a"), echo("b"), FINISH).passed


def test_the_final_facts_are_what_changed():
    assert verdict({}, task_of("a"), echo("a"), FINISH).facts == {
        "said/0/text": "a",
        "session/0/finished": True,
    }


@pytest.mark.parametrize(
    ("turns", "broken"),
    [
        ((), ["required"]),
        ((echo("a"), echo("b")), ["required"]),
        ((echo("b"), echo("a"), FINISH), ["required", "protected"]),
        ((echo("a"), echo("b"), echo("c"), FINISH), ["protected"]),
        ((echo("a"), FINISH, echo("b")), ["required"]),
    ],
    ids=["nothing", "not finished", "wrong order", "one too many", "after the end"],
)
def test_anything_else_fails_and_says_in_which_part(turns, broken):
    result = verdict({}, task_of("a", "b"), *turns)
    assert not result.passed
    assert [part.name for part in result.parts if not part.passed] == broken


def test_the_state_key_depends_on_what_was_said_and_not_on_detours():
    async def key(*turns):
        env = open_echo({})
        last = (await env.reset(None)).state_key
        for turn in turns:
            last = (await env.step(turn)).state_key
        return last

    same = asyncio.run(key(echo("a"), echo("b")))
    assert asyncio.run(key(echo("a"), AgentTurn("hello"), echo("b"))) == same
    assert asyncio.run(key(echo("b"), echo("a"))) != same
    assert asyncio.run(key(echo("a"), echo("b"), FINISH)) != same


def test_tasks_ask_for_as_many_words_as_there_are_turns():
    (task,) = make_tasks({"turns": 3}, 7, 1)
    words = task.goal.split(": ")[1].split()
    assert len(words) == 3
    assert set(words) <= set(WORDS)


@pytest.mark.parametrize("profile", WORLD.spec.profiles)
def test_each_misconception_of_the_expert_fails_its_task(profile):
    async def episode():
        env = open_echo({"turns": 3})
        await env.reset(make_tasks({"turns": 3}, 1, 1)[0])
        done = False
        while not done:
            done = (await env.step(await env.expert(profile))).done
        return await env.check()

    assert not asyncio.run(episode()).passed


def test_an_unknown_setting_is_an_error():
    with pytest.raises(ValidationError, match="turn"):
        open_echo({"turn": 3})


def test_planned_failure_comes_at_its_turn_and_not_before():
    async def episode():
        env = open_echo({"fail_at_turn": 1})
        await env.reset(None)
        await env.step(echo("a"))
        with pytest.raises(RuntimeError, match="turn 1"):
            await env.step(echo("b"))

    asyncio.run(episode())


def test_planned_hang_never_answers():
    async def episode():
        env = open_echo({"hang_at_turn": 0})
        await env.reset(None)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(env.step(echo("a")), 0.02)

    asyncio.run(episode())


def test_planned_trouble_in_check_is_raised():
    with pytest.raises(RuntimeError, match="planned"):
        verdict({"raise_in_check": True}, task_of("a"))


def test_the_payload_makes_observations_heavy():
    async def episode():
        env = open_echo({"payload_bytes": 5000})
        await env.reset(None)
        return (await env.step(echo("a"))).observations[0].content

    assert len(asyncio.run(episode())) == 5001


def test_a_blocking_echo_says_so_and_holds_the_event_loop():
    env = open_echo({"blocking_ms": 30})
    assert env.spec.blocking
    assert not open_echo({}).spec.blocking

    async def lag():
        await env.reset(None)
        began = time.monotonic()
        await asyncio.gather(asyncio.sleep(0), env.step(echo("a")))
        return time.monotonic() - began

    assert asyncio.run(lag()) >= 0.03


def test_a_slow_echo_lets_the_event_loop_go_on():
    async def both():
        slow = [open_echo({"step_ms": 50}) for _ in range(20)]
        for env in slow:
            await env.reset(None)
        began = time.monotonic()
        await asyncio.gather(*(env.step(echo("a")) for env in slow))
        return time.monotonic() - began

    assert asyncio.run(both()) < 0.5


def test_a_snapshot_of_another_world_is_refused():
    async def episode():
        env = open_echo({})
        await env.reset(None)
        taken = await env.snapshot()
        with pytest.raises(ValueError, match="does not fit"):
            await env.restore(type(taken)("chess", taken.version, taken.blob))

    asyncio.run(episode())


ANY_TEXT = st.text(st.characters(codec=None))
ANY_CALL = st.builds(
    ToolCall.received,
    ANY_TEXT,
    st.one_of(st.sampled_from(["echo", "finish"]), ANY_TEXT),
    st.one_of(
        ANY_TEXT,
        st.dictionaries(st.sampled_from(["text", "x"]), st.text() | st.none() | st.integers()).map(
            json.dumps
        ),
    ),
)
ANY_TURN = st.builds(AgentTurn, st.none() | ANY_TEXT, st.lists(ANY_CALL, max_size=4).map(tuple))


@pytest.mark.slow
@given(st.lists(ANY_TURN, max_size=6))
def test_whatever_is_written_every_call_is_answered_in_text_that_a_file_can_hold(turns):
    async def episode():
        env = open_echo({})
        await env.reset(None)
        for turn in turns:
            response = await env.step(turn)
            assert len(response.observations) >= max(1, len(turn.tool_calls))
            for observation in response.observations:
                f"{observation.content}{observation.name}".encode()
        taken = await env.snapshot()
        other = open_echo({})
        await other.restore(taken)
        assert await other.facts() == await env.facts()

    asyncio.run(episode())
