"""A desk without words: tools take no messages, text reaches nobody, tasks are solved as ever."""

import asyncio
import json
from typing import Any

import pytest

from synth.envs.bots import BOTS, expert
from synth.envs.storefront import WORLD
from synth.envs.transcript import Transcript, play
from synth.schemas import AgentTurn, Opening, Response, ToolCall

TASKS = WORLD.make_tasks({}, 31, 12)
SILENT = {"words": False}
PLANNER = expert("correct")


def played(task: int, bot: Any = PLANNER, **settings: Any) -> Transcript:
    return asyncio.run(play(WORLD.open(settings), TASKS[task], bot, seed=task))


def answered(turn: AgentTurn) -> tuple[Opening, Response]:
    async def one() -> tuple[Opening, Response]:
        env = WORLD.open(SILENT)
        return await env.reset(TASKS[0]), await env.step(turn)

    return asyncio.run(one())


def call(name: str, **arguments: Any) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall("a", name, json.dumps(arguments)),))


def test_no_tool_takes_a_message_and_the_policy_says_that_nobody_reads_text() -> None:
    opening, _ = answered(call("finish"))
    tools = {one["function"]["name"]: one["function"] for one in opening.tools}
    with_words = asyncio.run(WORLD.open({}).reset(TASKS[0]))
    assert tools.keys() == {one["function"]["name"] for one in with_words.tools} - {"reply"}
    assert "message" not in json.dumps(opening.tools)
    assert "Nobody reads free text" in str(opening.system_prompt)
    assert "Free text and messages are read" not in str(opening.system_prompt)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (AgentTurn(content="Your order is cancelled."), "nobody reads text; call a tool"),
        (call("finish", message="Bye."), "message' is not an argument"),
        (call("reply", message="Hello."), "there is no tool reply"),
    ],
)
def test_what_is_said_is_refused_and_ends_nothing(turn: AgentTurn, said: str) -> None:
    _, response = answered(turn)
    (refused,) = response.observations
    assert refused.error
    assert said in refused.content.replace('"', "'")
    assert not response.done


@pytest.mark.parametrize("task", range(len(TASKS)))
def test_the_expert_solves_the_same_tasks_without_a_word(task: int) -> None:
    silent, spoken = played(task, **SILENT), played(task)
    assert silent.verdict.passed is spoken.verdict.passed is True
    calls = [call for turn in silent.actions for call in turn.tool_calls]
    assert not [one for one in calls if "message" in json.loads(one.arguments)]
    assert silent.verdict.facts == spoken.verdict.facts


def test_who_acts_at_random_is_offered_no_words() -> None:
    turns = played(1, BOTS["random_affordance"], **SILENT).actions
    assert not [one for turn in turns for one in turn.tool_calls if one.name == "reply"]
    assert not [one for turn in turns for one in turn.tool_calls if "message" in one.arguments]
