import asyncio

import pytest

from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.scripted import ScriptedChat, calls, says


def ask(model: ScriptedChat, content: str) -> Completion:
    return asyncio.run(model.complete([{"role": "user", "content": content}], (), Sampling()))


def test_a_list_is_said_in_order_and_its_errors_are_raised_in_their_turn() -> None:
    model = ScriptedChat([says("one"), ModelError("down", retryable=True), calls("f", {"a": 1})])
    assert ask(model, "x").content == "one"
    with pytest.raises(ModelError, match="down"):
        ask(model, "y")
    assert ask(model, "z").tool_calls[0].arguments == '{"a": 1}'
    assert [request[0]["content"] for request in model.requests] == ["x", "y", "z"]


def test_past_its_end_a_script_says_which_call_it_had_no_reply_for() -> None:
    with pytest.raises(ModelError, match="no reply left for call 1"):
        ask(ScriptedChat([]), "x")


def test_a_function_answers_from_the_messages() -> None:
    model = ScriptedChat(lambda messages, tools: says(messages[-1]["content"].upper()))
    assert ask(model, "abc").content == "ABC"


def test_broken_arguments_can_be_scripted() -> None:
    (call,) = calls("f", "{broken").tool_calls
    assert (call.arguments, call.parse_error is not None) == ("{broken", True)
