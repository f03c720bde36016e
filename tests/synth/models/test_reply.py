import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.replies.reply import read_replies
from synth.models.server_error import error_text
from synth.models.settings import Price
from synth.schemas.model import Completion, ModelError


def read_reply(received: bytes, messages: list[Any], **more: Any) -> Completion:
    (reply,) = read_replies(received, messages, **more)
    return reply


def body(message: Any, **more: Any) -> bytes:
    choice = {"message": message, "finish_reason": "stop", **more.pop("choice", {})}
    return json.dumps({"choices": [choice], **more}).encode()


def call(call_id: Any, arguments: Any, name: str = "f") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("content", [None, "", "text"])
def test_null_and_empty_content_are_kept_apart(content: str | None) -> None:
    assert (
        read_reply(body({"content": content}, usage={"completion_tokens": 1}), []).content
        == content
    )


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_read_under_both_of_its_names(field: str) -> None:
    assert read_reply(body({"content": "a", field: "hm"}), []).thought == "hm"


@pytest.mark.parametrize(
    "arguments", ['{"a":  1}', "{broken", "", '"text"', '{"a": "\\ud83d\\ude00"}']
)
def test_arguments_are_kept_to_the_byte(arguments: str) -> None:
    (received,) = read_reply(
        body({"content": None, "tool_calls": [call("c1", arguments)]}), []
    ).tool_calls
    assert (received.call_id, received.arguments) == ("c1", arguments)


def test_arguments_sent_as_an_object_are_kept_as_written_and_named() -> None:
    raw = (
        b'{"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "f", '
        b'"arguments": {"a" : 1}}}]}}]}'
    )
    reply = read_reply(raw, [])
    assert reply.tool_calls[0].arguments == '{"a" : 1}'
    assert reply.repairs == ("arguments_sent_as_object",)


def test_missing_arguments_become_none_at_all() -> None:
    reply = read_reply(body({"tool_calls": [call("c", None)]}), [])
    assert (reply.tool_calls[0].arguments, reply.repairs) == ("{}", ("arguments_missing",))


def test_missing_and_repeated_ids_are_replaced_and_named() -> None:
    history = [{"role": "assistant", "content": None, "tool_calls": [call("call_0", "{}")]}]
    reply = read_reply(
        body(
            {
                "tool_calls": [
                    call("call_0", "{}"),
                    call(None, "{}"),
                    call("", "{}"),
                    call("mine", "{}"),
                    call("mine", "[]"),
                ]
            }
        ),
        history,
    )
    assert [c.call_id for c in reply.tool_calls] == [
        "call_1_0",
        "call_1_1",
        "call_1_2",
        "mine",
        "call_1_4",
    ]
    assert reply.repairs == ("call_id_duplicate", "call_id_missing")


def test_raw_is_the_message_as_received() -> None:
    raw = b'{"id": 1, "choices":[ {"message":{"content" :"a",  "odd_field": [1]} } ]}'
    assert read_reply(raw, []).raw == '{"content" :"a",  "odd_field": [1]}'


def test_a_refusal_is_content_and_named() -> None:
    reply = read_reply(body({"content": None, "refusal": "I cannot."}), [])
    assert (reply.content, reply.repairs) == ("I cannot.", ("refusal_as_content",))


def test_content_in_parts_is_joined_and_named() -> None:
    reply = read_reply(
        body({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), []
    )
    assert (reply.content, reply.repairs) == ("ab", ("content_parts_joined",))


def test_token_ids_logprobs_and_weights_are_kept_where_the_server_gives_them() -> None:
    choice = {
        "token_ids": [7, 8],
        "logprobs": {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]},
    }
    reply = read_reply(
        body(
            {"content": "ab"},
            choice=choice,
            prompt_token_ids=[1, 2, 3],
            system_fingerprint="fp",
            model="m-2",
        ),
        [],
    )
    assert (reply.prompt_token_ids, reply.completion_token_ids, reply.logprobs) == (
        (1, 2, 3),
        (7, 8),
        (-0.5, -1.0),
    )
    assert (reply.weights_id, reply.model) == ("fp", "m-2")


def test_usage_counts_cached_tokens_and_costs_what_the_price_says() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    reply = read_reply(
        body({"content": "a"}, usage=usage), [], price=Price(input=2, cached=0.5, output=10)
    )
    assert (
        reply.usage.prompt_tokens,
        reply.usage.completion_tokens,
        reply.usage.cached_tokens,
    ) == (1000, 100, 400)
    assert reply.usage.cost_usd == pytest.approx(0.0024)


def test_a_call_without_usage_has_no_cost_even_where_the_price_is_known() -> None:
    reply = read_reply(body({"content": "a"}), [], price=Price(input=2, output=10))
    assert (reply.usage.calls, reply.usage.cost_usd) == (1, None)


def test_half_a_surrogate_pair_in_arguments_is_replaced_and_named() -> None:
    reply = read_reply(body({"content": None, "tool_calls": [call("c", '{"a": "\ud800"}')]}), [])
    assert (reply.tool_calls[0].arguments, reply.repairs) == (
        '{"a": "�"}',
        ("lone_surrogates_replaced",),
    )


def test_half_a_surrogate_pair_is_replaced_and_named() -> None:
    reply = read_reply(body({"content": "a\ud800b"}), [])
    assert (reply.content, reply.repairs) == ("a�b", ("lone_surrogates_replaced",))


@pytest.mark.parametrize(
    ("received", "why"),
    [
        (b"", "truncated"),
        (b'{"choices": [', "truncated"),
        (b"<html>busy</html>", "malformed"),
        (b"[]", "object"),
        (b'{"choices": []}', "no choices"),
        (b"{}", "no choices"),
        (b'{"choices": null}', "no choices"),
        (b'{"choices": [{"message": null}]}', "message is null"),
        (b'{"choices": [{}]}', "message is null"),
        (b'{"choices": [{"message": "text"}]}', "object"),
        (b'{"choices": [{"message": {"content": "\\ud800', "Invalid|truncated"),
        (b'{"choices": [{"message": {"content": "\xff"}}]}', "UTF-8|utf-8"),
        (b'{"choices": [{"message": ' + b"[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_reply_is_an_error_that_may_be_retried(received: bytes, why: str) -> None:
    with pytest.raises(ModelError, match=why) as caught:
        read_reply(received, [])
    assert caught.value.retryable


KEYS = st.sampled_from(
    ["choices", "message", "content", "tool_calls", "function", "arguments", "id", "usage"]
)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@pytest.mark.slow
@given(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_reply_or_an_error_that_may_be_retried(received: bytes) -> None:
    try:
        read_reply(received, [])
    except ModelError as error:
        failure = error
    else:
        return
    assert failure.retryable


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (
            b'{"error": {"message": "too  long\\nfor us", "code": "context_length_exceeded"}}',
            ("too long for us", "context_length_exceeded"),
        ),
        (b'{"object": "error", "message": "no", "code": 400}', ("no", "400")),
        (b'{"error": "plain"}', ("plain", "")),
        (b"Bad Gateway", ("Bad Gateway", "")),
        (b"", ("", "")),
    ],
)
def test_error_bodies_of_all_shapes_are_read_in_one_line(
    received: bytes, expected: tuple[str, str]
) -> None:
    assert error_text(received) == expected
