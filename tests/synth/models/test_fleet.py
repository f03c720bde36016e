"""Several servers of one model: where conversations go, and what becomes of servers that fail, are
set up wrongly, or come back.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from synth.models.registry import open_model
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synth.models.fleets import all_of, ask, conversation, drive, tasks_at


def test_turns_and_trials_of_a_task_stay_on_one_server_and_tasks_are_spread() -> None:
    async def scene(model: ServerChat) -> None:
        for turn in range(4):
            for task in range(40):
                await ask(model, task, turn)
                await ask(model, task, turn)

    with ExitStack() as stack:
        servers = [stack.enter_context(ChatServer()) for _ in range(3)]
        drive(servers, scene)
    places = defaultdict(set)
    for index, server in enumerate(servers):
        for task in tasks_at(server):
            places[task].add(index)
    assert len(places) == 40
    assert all(len(found) == 1 for found in places.values())
    assert min(len(tasks_at(server)) for server in servers) >= 5


@pytest.mark.slow
def test_one_task_alone_does_not_overload_its_server() -> None:
    async def scene(model: ServerChat) -> None:
        await asyncio.gather(*(ask(model, 0) for _ in range(64)))

    with ExitStack() as stack:
        servers = [stack.enter_context(ChatServer(latency_s=1.0)) for _ in range(4)]
        drive(servers, scene, max_in_flight=64)
        peaks = sorted(server.counts()["peak_in_flight"] for server in servers)
    assert sum(peaks) == 64
    assert peaks[-1] <= 20, "ceil(1.25 * 64 / 4)"


def test_a_server_that_is_not_there_costs_no_call_and_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ChatServer() as gone:
        pass
    with ChatServer() as there:
        replies = drive([gone, there], lambda model: all_of(model, range(40)), max_retries=0)
        assert there.counts()["total"] == 40
    assert len(replies) == 40
    assert [record.message for record in caplog.records if "left out" in record.message] == [
        f"model test-model at {gone.url}: connection lost: [Errno 111] "
        f"Connect call failed ('127.0.0.1', {gone.port}); it is left out until it is well again"
    ]


@pytest.mark.parametrize(
    "mishap",
    [
        Mishap("status", status=500),
        Mishap("disconnect"),
        Mishap("disconnect_before"),
        Mishap("status", status=503),
    ],
)
def test_calls_that_one_server_fails_are_finished_by_the_other(mishap: Mishap) -> None:
    with ChatServer(mishaps=[mishap] * 1000) as broken, ChatServer() as sound:
        replies = drive([broken, sound], lambda model: all_of(model, range(60)), max_retries=1)
        assert len({reply.content for reply in replies}) == 60
        assert sound.counts()["answered"] == 60


def test_a_server_that_hangs_costs_a_timeout_and_no_call() -> None:
    async def scene(model: ServerChat) -> list[Completion]:
        first = await all_of(model, range(20))
        asked = hung.counts()["total"]
        await all_of(model, range(20, 60))
        assert hung.counts()["total"] == asked, "its circuit is open by now"
        return first

    with ChatServer(mishaps=[Mishap("hang")] * 1000) as hung, ChatServer() as sound:
        hung.healthy = False
        assert len(drive([hung, sound], scene, max_retries=1, timeout_s=0.5)) == 20


@pytest.mark.parametrize(
    "broken",
    [
        lambda: ChatServer(mishaps=[Mishap("status", status=404)] * 1000),
        lambda: ChatServer(model="other"),
        lambda: ChatServer(mishaps=[Mishap("unauthorized")] * 1000),
    ],
    ids=["404", "another model", "401"],
)
def test_a_server_that_is_set_up_wrongly_is_left_out_where_another_is_right(
    broken: Callable[[], ChatServer],
) -> None:
    with broken() as wrong, ChatServer() as right:
        drive([wrong, right], lambda model: all_of(model, range(30)), max_retries=0)
        assert right.counts()["answered"] == 30


def test_where_all_are_set_up_wrongly_what_the_last_says_is_the_error() -> None:
    with (
        ChatServer(model="a") as one,
        ChatServer(model="b") as two,
        pytest.raises(ModelError, match="serves no model") as caught,
    ):
        drive([one, two], lambda model: ask(model, 1))
    assert not caught.value.retryable


def test_a_bad_request_is_nobodys_failure_but_its_own() -> None:
    async def scene(model: ServerChat) -> None:
        for task in range(8):
            with pytest.raises(ModelError, match="HTTP 400"):
                await ask(model, task)
        one._mishaps.clear()
        two._mishaps.clear()
        await all_of(model, range(40))

    with (
        ChatServer(mishaps=[Mishap("bad_request")] * 8) as one,
        ChatServer(mishaps=[Mishap("bad_request")] * 8) as two,
    ):
        drive([one, two], scene)
        assert min(one.counts()["answered"], two.counts()["answered"]) > 5


def test_a_server_with_no_room_hands_the_call_on_at_once() -> None:
    full = Mishap("status", status=429, retry_after="60")
    with ChatServer(mishaps=[full] * 40) as busy, ChatServer() as free:
        began = time.perf_counter()
        drive([busy, free], lambda model: all_of(model, range(40)), max_retries=0)
        assert time.perf_counter() - began < 30
        assert free.counts()["answered"] == 40


def test_the_model_by_its_engines_name_spreads_over_its_servers() -> None:
    async def scene(urls: list[str]) -> None:
        model = open_model(
            ModelSettings(engine="vllm", base_url=urls, model="test-model", max_in_flight=8)
        )
        await asyncio.gather(
            *(model.complete(conversation(task), (), Sampling()) for task in range(40))
        )
        await model.close()

    with ChatServer() as one, ChatServer() as two:
        asyncio.run(scene([one.url, two.url]))
        assert one.counts()["total"] + two.counts()["total"] == 40
        assert min(one.counts()["total"], two.counts()["total"]) > 5
