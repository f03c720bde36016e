import asyncio
import json
from typing import Any

import pytest
from pydantic import ValidationError

from synth.policies.chat import ChatConfig, ChatPolicy, chat_policy, episode_sampling
from synth.schemas.environment import Opening
from synth.schemas.errors import ConfigError
from synth.schemas.model import ChatModel, Sampling
from synth.schemas.policy import Act, Episode, View
from synth.schemas.trajectory import Observation, Source, ToolCall, Turn
from tests.synth.models.scripted import ScriptedChat, calls, says

TOOL = {
    "type": "function",
    "function": {
        "name": "echo",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
    },
}
OPENING = Opening("Be brief.", (TOOL,), (Observation("hello", Source.USER),))
BROKEN = ToolCall.received("call_0", "echo", '{"text": ')


def turn(call: ToolCall, thought: str | None = None) -> Turn:
    return Turn(
        0, None, (call,), (Observation("seen", Source.TOOL, call.call_id),), thought=thought
    )


def act(model: ChatModel, view: View, **settings: Any) -> Act:
    return asyncio.run(ChatPolicy(model, Sampling(), ChatConfig(**settings)).act(view))


def test_the_view_is_shown_as_messages_and_the_reply_becomes_the_act() -> None:
    model = ScriptedChat([calls("echo", {"text": "hi"}, call_id="call_1", content="Looking.")])
    view = View(OPENING, (turn(ToolCall.received("call_0", "echo", "{}")),))
    done = act(model, view)
    assert [message["role"] for message in model.requests[0]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert (done.turn.content, done.turn.tool_calls[0].arguments, done.finish_reason) == (
        "Looking.",
        '{"text": "hi"}',
        "tool_calls",
    )


@pytest.mark.parametrize("send", [False, True])
def test_past_thoughts_are_sent_again_only_where_that_is_set(send: bool) -> None:
    model = ScriptedChat([says("ok")])
    act(
        model,
        View(OPENING, (turn(ToolCall.received("call_0", "echo", "{}"), thought="secret"),)),
        send_thoughts=send,
    )
    assert ("secret" in json.dumps(model.requests[0])) is send


def test_a_call_with_broken_arguments_is_passed_on_to_the_world() -> None:
    (call,) = act(ScriptedChat([calls("echo", "{broken")]), View(OPENING, ())).turn.tool_calls
    assert (call.arguments, call.parse_error is not None) == ("{broken", True)


def test_a_broken_call_is_sent_again_as_it_was_received() -> None:
    model = ScriptedChat([says("ok")])
    done = act(model, View(OPENING, (turn(BROKEN),)))
    assert model.requests[0][2]["tool_calls"][0]["function"]["arguments"] == '{"text": '
    assert done.repairs == ()


def episode(trial: int, seed: int) -> Episode:
    return Episode(env=None, model=None, trial=trial, seed=seed)  # type: ignore[arg-type]


def test_trials_with_a_seed_are_seeded_apart_and_the_same_trial_alike() -> None:
    seeds = {episode_sampling(Sampling(seed=7), episode(trial, 0)).seed for trial in range(20)}
    assert len(seeds) == 20
    assert episode_sampling(Sampling(seed=7), episode(3, 1)) == episode_sampling(
        Sampling(seed=7), episode(3, 1)
    )
    assert episode_sampling(Sampling(), episode(3, 1)).seed is None


def test_the_spec_says_what_identifies_the_work() -> None:
    spec = chat_policy({}, model_name="m", sampling={"temperature": 0.7})
    assert (spec.name, spec.authorship, spec.model, spec.sampling) == (
        "chat",
        "model",
        "m",
        {"temperature": 0.7},
    )
    assert spec.identity == {"policy": "chat", "send_thoughts": False}


def test_a_setting_that_it_does_not_know_is_an_error() -> None:
    with pytest.raises(ValidationError, match="send_thought"):
        chat_policy({"send_thought": True}, model_name="m", sampling={})


def test_a_chat_policy_without_a_model_is_the_users_to_mend() -> None:
    with pytest.raises(ConfigError, match="its role has none"):
        chat_policy({}, model_name=None, sampling={}).open(episode(0, 0))
