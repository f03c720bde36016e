import asyncio
from collections.abc import Iterable

import pytest

from synth.models.broken_calls import BrokenCallsChat, broken_calls_as_text, has_broken_calls
from synth.models.registry import open_model
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synth.models.scripted import ScriptedChat, says


def call(call_id: str, arguments: str) -> dict:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def answer(call_id: str, content: str) -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_a_sound_history_is_left_as_it_is() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call("a", "{}")]},
        answer("a", "ok"),
    ]
    assert not has_broken_calls(messages)
    assert broken_calls_as_text(messages) == messages


def test_broken_calls_become_text_and_sound_ones_keep_their_answers_right_behind_them() -> None:
    messages = [
        {
            "role": "assistant",
            "content": "Now:",
            "tool_calls": [call("bad", '{"x": '), call("good", '{"x": 1}')],
        },
        answer("bad", "arguments are not JSON"),
        answer("good", "ok"),
        {"role": "user", "content": "go on"},
    ]
    assert has_broken_calls(messages)
    assert broken_calls_as_text(messages) == [
        {
            "role": "assistant",
            "content": 'Now:\n<tool_call>\n{"name": "f", "arguments": {"x": }\n</tool_call>',
            "tool_calls": [call("good", '{"x": 1}')],
        },
        answer("good", "ok"),
        {"role": "user", "content": "<tool_response>\narguments are not JSON\n</tool_response>"},
        {"role": "user", "content": "go on"},
    ]


def test_answers_at_the_end_of_the_history_are_not_lost() -> None:
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call("bad", "no")]},
        answer("bad", "error"),
    ]
    rewritten = broken_calls_as_text(messages)
    assert [message["role"] for message in rewritten] == ["assistant", "user"]
    assert "tool_calls" not in rewritten[0]


HISTORY = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [call("bad", '{"x": ')]},
    answer("bad", "arguments are not JSON"),
]
REFUSAL = ServerError("HTTP 400: arguments must be valid JSON", status=400)
AS_TEXT = ("broken_calls_sent_as_text",)


def ask(
    script: Iterable[Completion | ModelError], *histories: list[dict]
) -> tuple[list[tuple[str, ...]], ScriptedChat]:
    """The repairs of the replies to these histories, and the model that gave them."""
    inner = ScriptedChat(script)
    model = BrokenCallsChat(inner)

    async def scene() -> list[tuple[str, ...]]:
        return [(await model.complete(history, (), Sampling())).repairs for history in histories]

    return asyncio.run(scene()), inner


def test_a_server_that_takes_broken_calls_is_sent_them_as_they_were_received() -> None:
    repairs, inner = ask([says("ok")], HISTORY)
    assert repairs == [()]
    assert inner.requests == [tuple(HISTORY)]


def test_a_server_that_refuses_them_is_shown_text_and_not_tried_the_first_way_again() -> None:
    repairs, inner = ask(
        [REFUSAL, says("one"), says("two"), says("three")], HISTORY, HISTORY, HISTORY[:1]
    )
    assert repairs == [AS_TEXT, AS_TEXT, ()]
    text = tuple(broken_calls_as_text(HISTORY))
    assert inner.requests == [tuple(HISTORY), text, text, tuple(HISTORY[:1])]


def test_a_request_that_is_refused_either_way_is_refused_for_its_first_reason() -> None:
    with pytest.raises(ModelError, match="arguments must be valid JSON"):
        ask([REFUSAL, ServerError("HTTP 400: something else", status=400)], HISTORY)


@pytest.mark.parametrize(
    ("error", "history"),
    [
        (ServerError("too long", status=400, context_overflow=True), HISTORY),
        (ServerError("no such model", status=404), HISTORY),
        (ModelError("down", retryable=True), HISTORY),
        (ServerError("bad", status=400), HISTORY[:1]),
    ],
)
def test_other_errors_are_not_mended_that_way(error: ModelError, history: list[dict]) -> None:
    with pytest.raises(ModelError) as caught:
        ask([error, says("not asked for")], history)
    assert caught.value is error


def test_over_http_a_400_for_broken_calls_costs_one_more_request() -> None:
    async def scene(server: ChatServer) -> Completion:
        model = open_model(ModelSettings(base_url=server.url, model="m"))
        reply = await model.complete(HISTORY, (), Sampling())
        await model.close()
        return reply

    with ChatServer(mishaps=[Mishap("bad_request")]) as server:
        reply = asyncio.run(scene(server))
        assert server.counts()["total"] == 2
    assert reply.repairs == AS_TEXT
