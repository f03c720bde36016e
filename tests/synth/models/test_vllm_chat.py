"""What engine vllm has beyond the behaviour that all engines share (test_engines): fidelity,
several replies, weights.
"""

import asyncio
from typing import Any

import pytest

from synth.models.servers.http_chat import open_vllm
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synth.models.chat_tokens import logprob, rendered

QUESTION = [{"role": "user", "content": "hello"}]


def settings(server: ChatServer, **more: Any) -> ModelSettings:
    return ModelSettings(engine="vllm", base_url=server.url, model="test-model", **more)


def ask(
    server: ChatServer, calls: int = 1, sampling: Sampling | None = None, **more: Any
) -> Completion:
    async def scene() -> Completion:
        model = open_vllm(settings(server, **more), draw=lambda: 0.0)
        try:
            for _ in range(calls):
                reply = await model.complete(QUESTION, (), sampling or Sampling())
            return reply
        finally:
            await model.close()

    return asyncio.run(scene())


def says(text: str) -> Any:
    return lambda body: {"role": "assistant", "content": text}


def test_token_ids_of_prompt_and_reply_are_asked_for_and_kept() -> None:
    with ChatServer(says("ok")) as server:
        reply = ask(server)
        without = ask(server, token_ids=False)
    assert reply.prompt_token_ids == tuple(rendered(QUESTION, None))
    assert reply.completion_token_ids == (ord("o"), ord("k"))
    assert (without.prompt_token_ids, without.completion_token_ids) == (None, None)


def test_log_probabilities_are_kept_one_per_token_where_they_are_asked_for() -> None:
    with ChatServer(says("ok")) as server:
        assert ask(server).logprobs is None
        reply = ask(server, logprobs=True)
    assert reply.logprobs == (logprob(ord("o")), logprob(ord("k")))


def test_log_probabilities_that_are_not_one_per_token_are_left_out_and_the_reply_says_so() -> None:
    with ChatServer(says("ok"), mishaps=[Mishap("logprobs_short")]) as server:
        reply = ask(server, logprobs=True)
    assert (reply.logprobs, reply.repairs) == (None, ("logprobs_not_one_per_token",))
    assert reply.completion_token_ids == (ord("o"), ord("k"))


def test_what_is_asked_for_beside_the_text_is_no_part_of_the_works_identity() -> None:
    with ChatServer() as server:
        pass
    assert (
        settings(server, token_ids=False, logprobs=True).sampling() == settings(server).sampling()
    )


def test_cached_tokens_come_from_the_servers_usage() -> None:
    with ChatServer(says("ok")) as server:
        usage = ask(server).usage
    assert usage.cached_tokens == usage.prompt_tokens // 2 > 0


def test_weights_are_what_the_card_names_else_the_fingerprint_and_it_is_asked_once() -> None:
    with ChatServer(root="org/weights") as server:
        assert ask(server, calls=3).weights_id == "org/weights"
        assert server.listed == 2, "at first contact, and beside the call that opened a connection"
    with ChatServer() as server:
        assert ask(server).weights_id == "fp_test"
    with ChatServer(fingerprint=None) as server:
        assert ask(server).weights_id is None


def test_a_server_without_the_model_is_told_at_once_and_asked_for_no_reply() -> None:
    with ChatServer(model="other") as server:
        with pytest.raises(
            ModelError, match="it serves no model of that name, but other; mend `model` or base_url"
        ) as caught:
            ask(server)
        assert server.counts()["total"] == 0
    assert not caught.value.retryable


def test_n_replies_to_one_request_share_its_usage_at_the_first() -> None:
    async def scene(server: ChatServer) -> tuple[Completion, ...]:
        model = open_vllm(settings(server))
        try:
            return await model.complete_n(QUESTION, (), Sampling(), 3)
        finally:
            await model.close()

    with ChatServer(says("take")) as server:
        replies = asyncio.run(scene(server))
        assert server.counts()["total"] == 1
    assert [reply.content for reply in replies] == ["take 0", "take 1", "take 2"]
    assert [bytes(reply.completion_token_ids or ()) for reply in replies] == [
        b"take 0",
        b"take 1",
        b"take 2",
    ]
    assert [(reply.usage.calls, reply.usage.prompt_tokens > 0) for reply in replies] == [
        (1, True),
        (0, False),
        (0, False),
    ]


def test_fewer_replies_than_asked_for_are_asked_for_again() -> None:
    async def scene(server: ChatServer) -> tuple[Completion, ...]:
        model = open_vllm(settings(server), draw=lambda: 0.0)
        try:
            return await model.complete_n(QUESTION, (), Sampling(), 2)
        finally:
            await model.close()

    with ChatServer(says("take"), mishaps=[Mishap("empty_choices")]) as server:
        assert len(asyncio.run(scene(server))) == 2
        assert server.counts()["total"] == 2


def test_structured_output_goes_to_the_server_as_the_flow_writes_it() -> None:
    shape = {
        "structured_outputs": {"json": {"type": "object"}},
        "chat_template_kwargs": {"enable_thinking": False},
    }
    with ChatServer() as server:
        ask(server, sampling=settings(server, extra_body=shape).sampling())
    assert {key: server.bodies[0][key] for key in shape} == shape


def test_a_setting_that_vllm_would_ignore_is_refused_with_what_to_write() -> None:
    with pytest.raises(
        ConfigError, match=r"vLLM ignores guided_choice; write `structured_outputs: {choice: ...}`"
    ):
        open_vllm(
            ModelSettings(
                engine="vllm",
                base_url="http://x/v1",
                model="m",
                extra_body={"guided_choice": ["a"]},
            )
        )


def test_an_address_is_needed() -> None:
    with pytest.raises(ConfigError, match="engine vllm needs the address of a server"):
        open_vllm(ModelSettings(engine="vllm", model="m"))


def test_thoughts_come_with_the_reply() -> None:
    with ChatServer(
        lambda body: {"role": "assistant", "content": "4", "reasoning_content": "two and two"}
    ) as server:
        reply = ask(server)
    assert (reply.thought, reply.content) == ("two and two", "4")


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with (
        ChatServer(mishaps=[Mishap("status", status=307)]) as server,
        pytest.raises(ModelError, match="HTTP 307") as caught,
    ):
        ask(server)
    assert not caught.value.retryable


def test_calls_in_flight_when_the_model_is_closed_leave_nothing_behind() -> None:
    async def scene(server: ChatServer) -> None:
        model = open_vllm(settings(server))
        call = asyncio.create_task(model.complete(QUESTION, (), Sampling()))
        await asyncio.sleep(0.2)
        assert server.counts()["in_flight"] == 1
        call.cancel()
        await model.close()
        with pytest.raises(asyncio.CancelledError):
            await call

    with ChatServer(lambda body: called("echo", {}), latency_s=5) as server:
        asyncio.run(scene(server))
