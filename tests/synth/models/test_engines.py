import asyncio
import time

import pytest

from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.chat_brains import messages_hash
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synth.models.engines import OPENERS, QUESTION, TOOLS, Ask


def test_a_reply_comes_with_its_usage_model_latency_and_raw_text(ask: Ask) -> None:
    with ChatServer(latency_s=0.02) as server:
        reply = ask(server)
    assert reply.content == f"reply {messages_hash({'messages': QUESTION})}"
    assert (reply.model, reply.weights_id, reply.finish_reason, reply.usage.calls) == (
        "test-model",
        "fp_test",
        "stop",
        1,
    )
    assert reply.usage.prompt_tokens > 0
    assert reply.latency_ms is not None
    assert 20 <= reply.latency_ms < 2000
    assert reply.raw is not None
    assert reply.content in reply.raw


def test_the_request_holds_what_was_asked_for_and_leaves_the_rest_to_the_server(
    ask: Ask, engine: str
) -> None:
    own = {"return_token_ids": True} if engine == "vllm" else {}
    with ChatServer() as server:
        ask(server, tools=TOOLS, sampling=Sampling(0.5, None, 9, 7, ("END",), {"top_k": 3}))
        ask(server)
    assert server.bodies[0] == {
        "model": "test-model",
        "messages": QUESTION,
        "tools": list(TOOLS),
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 7,
        "stop": ["END"],
        "top_k": 3,
        **own,
    }
    assert server.bodies[1] == {"model": "test-model", "messages": QUESTION, **own}
    assert server.headers[0]["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "mishap",
    [
        *(Mishap("status", status=status) for status in (408, 409, 429, 500, 502, 503, 504)),
        Mishap("disconnect"),
        Mishap("disconnect_before"),
        Mishap("truncated_json"),
        Mishap("malformed_json"),
        Mishap("wrong_content_type"),
        Mishap("empty_choices"),
        Mishap("null_message"),
    ],
    ids=lambda mishap: f"{mishap.kind} {mishap.status}",
)
def test_what_may_pass_is_asked_again(ask: Ask, mishap: Mishap) -> None:
    with ChatServer(mishaps=[mishap, mishap]) as server:
        reply = ask(server)
        assert server.counts()["total"] == 3
    assert reply.content is not None
    assert reply.content.startswith("reply")


@pytest.mark.parametrize(
    ("mishap", "status"),
    [(Mishap("status", status=s), s) for s in (400, 401, 403, 404, 422)],
    ids=str,
)
def test_what_is_wrong_with_the_request_is_not_asked_again(
    ask: Ask, mishap: Mishap, status: int
) -> None:
    with ChatServer(mishaps=[mishap]) as server:
        with pytest.raises(ModelError, match=f"HTTP {status}") as caught:
            ask(server)
        assert server.counts()["total"] == 1
    assert not caught.value.retryable


@pytest.mark.parametrize("kind", ["hang", "slow_bytes"])
def test_a_server_that_does_not_finish_in_time_is_a_timeout(ask: Ask, kind: str) -> None:
    with ChatServer(mishaps=[Mishap(kind, delay_s=0.05)]) as server:
        started = time.perf_counter()
        with pytest.raises(ModelError, match=r"no reply within 0\.[23]\d* s") as caught:
            ask(server, timeout_s=0.3, max_retries=0)
    assert (caught.value.timeout, caught.value.retryable) == (True, True)
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("kind", ["disconnect", "disconnect_before"])
def test_a_lost_connection_is_no_timeout(ask: Ask, kind: str) -> None:
    with (
        ChatServer(mishaps=[Mishap(kind)]) as server,
        pytest.raises(ModelError, match="connection lost") as caught,
    ):
        ask(server, max_retries=0)
    assert (caught.value.timeout, caught.value.retryable) == (False, True)


def test_a_server_that_was_never_there_is_tried_once_more_and_then_said_to_be_not_there(
    ask: Ask,
) -> None:
    with ChatServer() as server:
        pass
    slept: list[float] = []
    with pytest.raises(
        ModelError, match=r"connection lost: .*127\.0\.0\.1.*; gave up after 2 tries"
    ):
        ask(server, max_retries=9, slept=slept)
    assert len(slept) == 1


def test_retry_after_is_honoured(ask: Ask) -> None:
    slept: list[float] = []
    with ChatServer(mishaps=[Mishap("status", status=429, retry_after="7")]) as server:
        ask(server, slept=slept)
    assert slept == [7.0]


def test_all_tries_together_are_bounded_in_time(ask: Ask) -> None:
    with ChatServer(mishaps=[Mishap("hang")] * 9) as server:
        started = time.perf_counter()
        with pytest.raises(ModelError, match="gave up after 2 tries"):
            ask(server, timeout_s=0.3, total_timeout_s=0.5, max_retries=9)
    assert time.perf_counter() - started < 10


def test_a_refused_key_says_which_variable_to_look_at(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVER_KEY", "sk-secret-123456")
    with ChatServer(mishaps=[Mishap("unauthorized"), Mishap("unauthorized")]) as server:
        with pytest.raises(ModelError, match="look at the key in MY_SERVER_KEY"):
            ask(server, api_key_env="MY_SERVER_KEY")
        with pytest.raises(ModelError, match="name its environment variable as api_key_env"):
            ask(server)
    assert server.headers[0]["Authorization"] == "Bearer sk-secret-123456"
    assert server.headers[1]["Authorization"] == "Bearer none"


def test_a_prompt_that_is_too_long_is_told_apart_from_other_bad_requests(ask: Ask) -> None:
    with ChatServer(mishaps=[Mishap("context_length"), Mishap("bad_request")]) as server:
        with pytest.raises(ModelError) as too_long:
            ask(server)
        with pytest.raises(ModelError) as bad:
            ask(server)
    assert (too_long.value.context_overflow, too_long.value.retryable) == (True, False)
    assert (bad.value.context_overflow, bad.value.retryable) == (False, False)


def test_a_cancelled_call_frees_its_connection(engine: str) -> None:
    async def scene(server: ChatServer) -> None:
        model = OPENERS[engine](
            ModelSettings(
                engine=engine,
                base_url=server.url,
                model="test-model",
                max_in_flight=1,
                connect_timeout_s=1,
                timeout_s=5,
            )
        )
        first = asyncio.create_task(model.complete(QUESTION, (), Sampling()))
        await asyncio.sleep(0.1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await model.complete(QUESTION, (), Sampling())).content is not None
        await model.close()

    with ChatServer(mishaps=[Mishap("hang")]) as server:
        asyncio.run(scene(server))


@pytest.mark.slow
def test_hundreds_of_calls_share_the_client_through_storms(engine: str) -> None:
    storm = [
        Mishap("status", status=503),
        None,
        Mishap("disconnect"),
        None,
        Mishap("truncated_json"),
    ] * 40

    async def scene(server: ChatServer) -> list[Completion]:
        model = OPENERS[engine](
            ModelSettings(
                engine=engine,
                base_url=server.url,
                model="test-model",
                max_in_flight=64,
                max_retries=20,
            ),
            draw=lambda: 0.01,
        )
        questions = [[{"role": "user", "content": str(number)}] for number in range(300)]
        replies = await asyncio.gather(
            *(model.complete(question, (), Sampling()) for question in questions)
        )
        await model.close()
        return list(replies)

    with ChatServer(mishaps=storm) as server:
        replies = asyncio.run(scene(server))
        counts = server.counts()
    assert len({reply.content for reply in replies}) == 300
    assert len(counts["by_hash"]) == 300
    assert counts["total"] == 300 + 120
    assert counts["peak_in_flight"] <= 64


def test_text_that_no_server_can_be_sent_is_an_error_of_that_call(engine: str) -> None:
    async def scene(server: ChatServer) -> None:
        settings = ModelSettings(engine=engine, base_url=server.url, model="test-model")
        model = OPENERS[engine](settings)
        with pytest.raises(ModelError, match="cannot be sent"):
            await model.complete([{"role": "user", "content": "\ud800"}], (), Sampling())
        await model.close()

    with ChatServer() as server:
        asyncio.run(scene(server))


def test_an_answer_of_404_says_what_to_look_at(ask: Ask) -> None:
    said = "look whether base_url ends in /v1, and whether the server has a model named test-model"
    with (
        ChatServer(mishaps=[Mishap("status", status=404)]) as server,
        pytest.raises(ModelError, match=said),
    ):
        ask(server)
