"""What counts is what the agent does by tools: no wording fails a right solution, no wording makes
up for an act that is missing.
"""

from collections.abc import Callable
from functools import cache

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.audit.alternatives import CHATTER, OTHER_WORDS
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.schemas import MONEY_WRITES
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.task import Task
from tests.envs.storefront.playing import Episode, call, expert_episode, started

MOST_TURNS = 150


@cache
def tasks() -> tuple[Task, ...]:
    return tuple(WORLD.make_tasks({"transient_rate": 0}, 77, 70))


async def played(task: Task, said: Callable[[AgentTurn], list[AgentTurn]]) -> Episode:
    """An episode in which each turn of the expert is put otherwise."""
    episode = await started(task)
    for _ in range(MOST_TURNS):
        for turn in said(await episode.env.expert(None, 0)):
            if (await episode.act(turn)).done:
                return episode
    return episode


def passes(task: Task, said: Callable[[AgentTurn], list[AgentTurn]]) -> bool:
    async def play() -> bool:
        return (await (await played(task, said)).env.check()).passed

    return at_once(play())


def otherwise(turn: AgentTurn) -> list[AgentTurn]:
    """The same calls in a turn with a thought in other words, and other words in each message."""
    calls = []
    for made in turn.tool_calls:
        arguments = made.parsed()
        if made.name in ("ask_customer", "tell_customer", "deny", "finish"):
            arguments = {**arguments, "message": OTHER_WORDS}
        calls.append(call(made.name, **arguments).tool_calls[0])
    return [AgentTurn(CHATTER, tuple(calls))]


def in_free_text(*tools: str) -> Callable[[AgentTurn], list[AgentTurn]]:
    """Says what calls of these tools hold, in place of making them."""

    def said(turn: AgentTurn) -> list[AgentTurn]:
        words = [made.arguments for made in turn.tool_calls if made.name in tools]
        calls = tuple(made for made in turn.tool_calls if made.name not in tools)
        turns = [AgentTurn(f"{text}. Do you agree? Yes or no?") for text in words]
        return [*turns, *([AgentTurn(turn.content, calls)] if calls else [])]

    return said


@pytest.mark.slow
def test_the_same_acts_pass_in_whatever_words() -> None:
    assert all(passes(task, otherwise) for task in tasks())


@pytest.mark.slow
def test_a_fact_in_free_text_is_not_told() -> None:
    asking = [task for task in tasks() if task.check is not None and task.check.told]
    assert len(asking) > 15
    assert not any(passes(task, in_free_text("tell_customer")) for task in asking)


@pytest.mark.slow
def test_no_task_that_moves_money_is_solved_without_agreement_by_the_tool() -> None:
    """The expert waits for an agreement that never comes; who writes after asking in free text
    breaks R2.
    """

    async def writes_anyway(task: Task) -> tuple[bool, bool]:
        episode = await expert_episode(task)
        moved = any(
            seen.name in MONEY_WRITES and not seen.error
            for response in episode.responses
            for seen in response.observations
        )
        await episode.env.reset(task)
        for turn in episode.turns:
            for said in in_free_text("confirm_with_customer")(turn):
                await episode.env.step(said)
        return moved, (await episode.env.check()).passed

    verdicts = [at_once(writes_anyway(task)) for task in tasks()]
    assert sum(moved for moved, _ in verdicts) > 30
    assert not any(passed for moved, passed in verdicts if moved)


def answers(*turns: AgentTurn) -> list[Response]:
    async def play() -> list[Response]:
        episode = await started(tasks()[0])
        return [await episode.act(turn) for turn in turns]

    return at_once(play())


@pytest.mark.slow
def test_an_agreement_is_asked_for_one_write_with_all_its_arguments() -> None:
    def asked(**arguments: object) -> AgentTurn:
        made = {"request": 1, "write": "cancel_order", "arguments": arguments}
        return call("confirm_with_customer", **made)

    missing, unknown, whole = answers(
        asked(order_id="O-1"), asked(order="O-1"), asked(order_id="O-1", reason="other")
    )
    assert missing.observations[0].content == "validation: cancel_order: reason is missing"
    assert unknown.observations[0].error
    assert not whole.observations[0].error


def test_facts_are_told_of_orders_and_skus_that_there_are() -> None:
    nobody, nothing = answers(
        call("tell_customer", about="O-1", total=3), call("tell_customer", about="V-0")
    )
    assert nobody.observations[0].content == "not_found: there is no order or sku O-1"
    assert nothing.observations[0].error


def test_what_is_asked_for_is_answered_as_a_value_and_in_words() -> None:
    (name,) = answers(call("ask_customer", field="name"))
    value, words = (seen.content for seen in name.observations)
    spoken = tasks()[0].script["name"]
    assert value == canonical_json({"answer": spoken, "field": "name"}).decode()
    assert words == f"My name is {spoken}."
