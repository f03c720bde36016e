"""What engines behind HTTP make of odd replies: mended and named, or asked for again."""

import pytest

from synth.schemas.model import ModelError
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synth.models.engines import TOOLS, Ask


def test_a_call_with_broken_arguments_is_the_agents_error_and_no_fault(ask: Ask) -> None:
    with ChatServer(mishaps=[Mishap("broken_arguments")]) as server:
        (call,) = ask(server, tools=TOOLS).tool_calls
    assert call.arguments == '{"text": "never closed'
    assert call.parse_error is not None


@pytest.mark.parametrize(
    ("kind", "repair"), [("duplicate_ids", "call_id_duplicate"), ("missing_ids", "call_id_missing")]
)
def test_ids_are_mended_and_the_mending_is_named(ask: Ask, kind: str, repair: str) -> None:
    with ChatServer(mishaps=[Mishap(kind)]) as server:
        reply = ask(server, tools=TOOLS)
    assert len({call.call_id for call in reply.tool_calls}) == 2
    assert reply.repairs == (repair,)


def test_a_wrong_finish_reason_is_kept_as_received(ask: Ask) -> None:
    with ChatServer(mishaps=[Mishap("wrong_finish_reason")]) as server:
        reply = ask(server)
    assert (reply.finish_reason, reply.tool_calls) == ("tool_calls", ())


def test_calls_that_the_server_missed_are_recovered_only_where_tools_were_shown(ask: Ask) -> None:
    text = '<tool_call>{"name": "echo", "arguments": {"text": "hi"}}</tool_call>'
    with ChatServer(lambda body: {"role": "assistant", "content": text}) as server:
        with_tools, without = ask(server, tools=TOOLS), ask(server)
    assert [(call.name, call.arguments) for call in with_tools.tool_calls] == [
        ("echo", '{"text": "hi"}')
    ]
    assert "tool_call_recovered" in with_tools.repairs
    assert with_tools.raw is not None
    assert "<tool_call>" in with_tools.raw
    assert (without.tool_calls, without.content) == ((), text)


def test_a_call_cut_off_by_length_stays_text(ask: Ask) -> None:
    text = '<tool_call>{"name": "echo", "arguments": {"te'
    with ChatServer(lambda body: {"role": "assistant", "content": text}) as server:
        assert ask(server, tools=TOOLS).content == text


def test_a_structured_call_comes_through_as_sent(ask: Ask) -> None:
    with ChatServer(lambda body: called("echo", '{"text":  "a"}', "call_x")) as server:
        (call,) = ask(server, tools=TOOLS).tool_calls
    assert (call.call_id, call.name, call.arguments, call.parse_error) == (
        "call_x",
        "echo",
        '{"text":  "a"}',
        None,
    )


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("huge_usage", "Expected `int` <= 2147483647 - at `$.usage.completion_tokens`"),
        ("negative_usage", "Expected `int` >= 0 - at `$.usage.completion_tokens`"),
        ("fractional_usage", "Expected `int | null`, got `float` - at `$.usage.completion_tokens`"),
        ("odd_token_ids", "Expected `int` >= 0 - at `$.choices[0].token_ids[1]`"),
    ],
)
def test_numbers_that_no_reply_can_have_make_it_unusable(ask: Ask, kind: str, why: str) -> None:
    with ChatServer(mishaps=[Mishap(kind)]) as server:
        with pytest.raises(ModelError) as caught:
            ask(server, max_retries=0)
        assert ask(server).content is not None
    assert why in str(caught.value)


@pytest.mark.parametrize("kind", ["endless", "announced_endless"])
def test_a_reply_without_end_is_not_read_to_its_end_nor_asked_for_again(
    ask: Ask, kind: str
) -> None:
    with ChatServer(mishaps=[Mishap(kind)]) as server:
        with pytest.raises(
            ModelError, match="the reply is longer than 64 MiB; bound it with max_tokens"
        ) as caught:
            ask(server)
        assert server.counts()["total"] == 1
        assert ask(server).content is not None
    assert (caught.value.retryable, caught.value.timeout) == (False, False)
