"""Replies that lie about their health, one by one: each is a fault or the agent's by the test's own
table, and never both.
"""

import asyncio
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synth.models.backoff import Pacing
from synth.models.replies.reply import read_replies
from synth.models.reply_health import FINISH_REASONS
from synth.models.server_error import ServerError
from synth.models.servers.chat_request import Post, Received
from synth.models.servers.http_chat import open_openai, open_vllm
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Message, ModelError, Sampling
from synth.schemas.trajectory import ToolSchema
from tests.attack.hostile_server import HostileServer
from tests.attack.lies import BODY_LIES, CANARY, LIES, body_of, lying_body
from tests.attack.quirks import QUIRKS
from tests.attack.test_hostile_server import brain
from tests.synth.models.chat_brains import called, response

ASKED: list[Message] = [{"role": "user", "content": "say: a b c"}]
TOOLS: tuple[ToolSchema, ...] = (
    {
        "type": "function",
        "function": {"name": "echo", "parameters": {"type": "object", "properties": {}}},
    },
)
HONEST = response({"messages": ASKED, "model": "m"}, called("echo", {"text": "a"}, "call_0"))
OPENERS = {"openai": open_openai, "vllm": open_vllm}


class Wire:
    """A transport that gives bodies in their order, the last one again and again."""

    room = 8

    def __init__(self, *bodies: bytes) -> None:
        self.bodies, self.asked = bodies, 0

    async def post(self, post: Post, timeout_s: float) -> Received:
        self.asked += 1
        return Received(self.bodies[min(self.asked, len(self.bodies)) - 1])

    async def close(self) -> None:
        return


async def _at_once(seconds: float) -> None:
    return


def chat(wire: Wire) -> ServerChat:
    """A client over the wire whose waits take no time."""
    pacing = Pacing(lambda: 0.0, _at_once, iter(range(10**6)).__next__, lambda: 0.0)
    return ServerChat(
        wire, ModelSettings(model="m", base_url="http://127.0.0.1:9/v1", max_retries=2), pacing
    )


def complete(
    model: ServerChat, messages: Sequence[Message] = ASKED, tools: Sequence[ToolSchema] = TOOLS
) -> Completion:
    return asyncio.run(model.complete(messages, tools, Sampling()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [*LIES, *BODY_LIES])
def test_a_lie_is_asked_for_again_and_then_a_fault(kind: str, seed: int) -> None:
    body = lying_body(kind, HONEST, Random(f"{kind} {seed}"))
    lasting = Wire(body)
    with pytest.raises(ModelError) as caught:
        complete(chat(lasting))
    assert (lasting.asked, caught.value.context_overflow) == (3, False)
    passing = Wire(body, body_of(HONEST))
    assert CANARY not in repr(complete(chat(passing)))
    assert passing.asked == 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", QUIRKS)
def test_an_odd_reply_is_the_agents_and_says_what_an_ordinary_one_says(
    kind: str, seed: int
) -> None:
    reply = complete(chat(Wire(body_of(QUIRKS[kind](HONEST, Random(f"{kind} {seed}"))))))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("echo", '{"text": "a"}')]
    assert (reply.content, all(call.call_id for call in reply.tool_calls)) == (None, True)
    assert reply.logprobs is None
    assert reply.completion_token_ids is None


@pytest.mark.parametrize("at", range(0, len(body_of(HONEST)), 7))
def test_a_body_that_is_cut_anywhere_is_no_reply(at: int) -> None:
    with pytest.raises(ServerError):
        read_replies(body_of(HONEST)[:at], ASKED)


@settings(max_examples=150)
@given(st.text(max_size=20) | st.sampled_from(sorted(FINISH_REASONS)) | st.none())
@example("error")
@example("length")
def test_only_the_words_of_the_table_end_a_reply(word: str | None) -> None:
    reply = msgspec.convert(HONEST, dict[str, Any])
    reply["choices"] = [{**reply["choices"][0], "finish_reason": word}]
    agents = word in (
        "stop",
        "tool_calls",
        "function_call",
        "length",
        "repetition",
        "content_filter",
        None,
    )
    try:
        (completion,) = read_replies(body_of(reply), ASKED)
    except ServerError:
        assert not agents
    else:
        assert agents
        assert completion.finish_reason == word


def numbered(*indices: Any) -> bytes:
    """A response with choices of these indices, whose contents are their places."""
    choices = [
        {"index": at, "message": {"content": str(i)}, "finish_reason": "stop"}
        for i, at in enumerate(indices)
    ]
    return json.dumps({"choices": choices}).encode()


def test_several_choices_come_in_the_order_of_their_index_or_not_at_all() -> None:
    assert [one.content for one in read_replies(numbered(2, 0, 1), ASKED, n=3)] == ["1", "2", "0"]
    assert [one.content for one in read_replies(numbered(None, None), ASKED, n=2)] == ["0", "1"]
    for indices in ((0, 0), (0, 2), (0, None), (-1, 0), (1, 2), (0,), (0, 1, 2)):
        with pytest.raises(ServerError):
            read_replies(numbered(*indices), ASKED, n=2)


def sent(*calls: tuple[Any, str, str]) -> bytes:
    listed = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    return json.dumps(
        {"choices": [{"message": {"tool_calls": listed}, "finish_reason": "tool_calls"}]}
    ).encode()


def test_one_call_twice_under_one_id_is_one_and_counted_and_another_gets_an_id_of_its_own() -> None:
    body = sent(
        ("a", "f", '{"x": 1}'),
        ("a", "f", '{ "x":1 }'),
        ("a", "f", '{"x": true}'),
        ("a", "g", '{"x": 1}'),
        ("b", "f", '{"x": 1}'),
    )
    (reply,) = read_replies(body, ASKED)
    assert [(call.call_id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("a", "f", '{"x": 1}'),
        ("call_0_2", "f", '{"x": true}'),
        ("call_0_3", "g", '{"x": 1}'),
        ("b", "f", '{"x": 1}'),
    ]
    assert reply.repairs == ("call_sent_twice", "call_id_duplicate")


def test_thousands_of_calls_and_arguments_of_megabytes_are_the_agents() -> None:
    (many,) = read_replies(
        sent(*((f"c{i % 3000}", "f", f'{{"x": {i}}}') for i in range(6000))), ASKED
    )
    assert len({call.call_id for call in many.tool_calls}) == 6000
    (same,) = read_replies(sent(*(("a", "f", "{}") for _ in range(5000))), ASKED)
    assert (len(same.tool_calls), same.repairs) == (1, ("call_sent_twice",))
    (large,) = read_replies(sent(("a", "f", json.dumps({"x": "y" * 4_000_000}))), ASKED)
    assert large.tool_calls[0].parse_error is None


def test_the_reply_of_another_conversation_is_a_fault_and_one_given_twice_is_not() -> None:
    other: list[Message] = [{"role": "user", "content": "another"}]
    model = chat(Wire(body_of({**HONEST, "id": "chatcmpl-0"}), body_of(HONEST)))
    complete(model, other)
    assert complete(model) == complete(model)
    with pytest.raises(ModelError, match="another conversation got"):
        complete(model, other)
    only = chat(Wire(body_of(HONEST)))
    complete(only)
    complete(only, other)  # a server that knows but one id
    void = chat(Wire(body_of(HONEST), body_of({**HONEST, "model": "x"}), body_of(HONEST)))
    complete(void)
    complete(void, other)
    complete(void, [*ASKED, *other])  # one id over different replies is none


@pytest.mark.parametrize(
    "kind",
    [
        "sent elsewhere",
        "another success",
        "gzip that is cut off",
        "chunks that end too early",
        "no HTTP",
    ],
)
@pytest.mark.parametrize("engine", OPENERS)
def test_both_engines_take_nothing_from_a_broken_answer_and_follow_no_redirection(
    engine: str, kind: str
) -> None:
    async def scene(url: str) -> list[str]:
        own = ModelSettings(
            engine=engine, base_url=url, model="test", timeout_s=1, max_retries=0, total_timeout_s=2
        )
        model, told = OPENERS[engine](own), []
        for _ in range(4):
            try:
                told.append(repr(await model.complete(ASKED, TOOLS, Sampling())))
            except ModelError as error:
                told.append(f"fault {error.retryable}")
        await model.close()
        return told

    with HostileServer(brain, kind, lies=1, quirks=0, kinds=(kind,)) as server:
        assert asyncio.run(scene(server.url)) == [f"fault {kind != 'sent elsewhere'}"] * 4
        assert server.elsewhere == 0
