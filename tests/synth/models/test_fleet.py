"""Several servers of one model: where conversations go, and what becomes of servers that fail, are
set up wrongly, or come back.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import pytest

from synth.models.backoff import Pacing
from synth.models.registry import open_model
from synth.models.servers.chat_request import Post, request_body
from synth.models.servers.fleet import Fleet
from synth.models.servers.http_chat import open_vllm as open_fleet
from synth.models.servers.http_server import HTTPServer
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.chat_server import ChatServer, Mishap

Scene = Callable[[ServerChat], Awaitable[Any]]


def drive(servers: list[ChatServer], scene: Scene, **more: Any) -> Any:
    """Runs a scene with a model behind all servers, with short waits."""

    async def run() -> Any:
        urls = [server.url for server in servers]
        model = open_fleet(
            ModelSettings(engine="vllm", base_url=urls, model="test-model", **more),
            draw=lambda: 0.1,
        )
        try:
            return await scene(model)
        finally:
            await model.close()

    return asyncio.run(run())


def conversation(task: int, turn: int = 0) -> list[dict[str, Any]]:
    opening = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": f"task {task}"},
    ]
    return (
        opening
        + [{"role": "assistant", "content": "go on"}, {"role": "user", "content": "next"}] * turn
    )


async def ask(model: ServerChat, task: int, turn: int = 0) -> Completion:
    return await model.complete(conversation(task, turn), (), Sampling())


async def all_of(model: ServerChat, tasks: range) -> list[Completion]:
    return list(await asyncio.gather(*(ask(model, task) for task in tasks)))


def tasks_at(server: ChatServer) -> Counter[str]:
    return Counter(body["messages"][2]["content"] for body in server.bodies)


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


def test_a_server_that_comes_back_is_used_again_and_says_anew_what_it_serves() -> None:
    first = ChatServer(fingerprint=None, root="weights/1").__enter__()
    seen: list[set[str | None]] = []

    async def scene(model: ServerChat) -> None:
        seen.append({reply.weights_id for reply in await all_of(model, range(20))})
        await asyncio.to_thread(first.__exit__)
        seen.append({reply.weights_id for reply in await all_of(model, range(20, 40))})
        again = await asyncio.to_thread(
            ChatServer(fingerprint=None, root="weights/2", port=first.port).__enter__
        )
        came: set[str | None] = set()
        for task in range(40, 600):
            came.add((await ask(model, task)).weights_id)
            await asyncio.sleep(0.01)
            if again.counts()["answered"] >= 5:
                break
        seen.append(came)
        await asyncio.to_thread(again.__exit__)

    with ChatServer(fingerprint=None, root="weights/1") as stays:
        drive([stays, first], scene)
    assert seen == [{"weights/1"}, {"weights/1"}, {"weights/1", "weights/2"}]


def test_what_a_server_serves_is_asked_again_after_five_seconds_on_connections_that_stay() -> None:
    now = [0.0]

    async def scene(server: ChatServer) -> list[str | None]:
        settings = ModelSettings(engine="vllm", base_url=server.url, model="test-model")
        model = open_fleet(settings, clock=lambda: now[0])
        seen = [(await ask(model, 0)).weights_id]
        server.root = "weights/2"
        now[0] += 6
        seen += [reply.weights_id for reply in await all_of(model, range(5))]
        await model.close()
        return seen

    with ChatServer(root="weights/1") as server:
        assert asyncio.run(scene(server)) == ["weights/1"] + ["weights/2"] * 5


def test_no_reply_after_a_quiet_restart_carries_the_weights_from_before() -> None:
    async def scene(model: ServerChat) -> list[Completion]:
        assert (await ask(model, 0)).weights_id == "weights/1"
        await asyncio.to_thread(first.__exit__)
        again = await asyncio.to_thread(
            ChatServer(root="weights/2", port=first.port, latency_s=0.01).__enter__
        )
        replies = await all_of(model, range(20))
        replies += await all_of(model, range(20))
        assert again.counts()["answered"] == 40, (
            "no circuit has opened: nobody asked while it was away"
        )
        await asyncio.to_thread(again.__exit__)
        return replies

    first = ChatServer(root="weights/1").__enter__()
    assert [reply.weights_id for reply in drive([first], scene)] == ["weights/2"] * 40


def test_calls_on_connections_that_stay_do_not_ask_what_is_served() -> None:
    async def scene(model: ServerChat) -> None:
        await all_of(model, range(16))
        asked = server.listed
        for _ in range(10):
            await all_of(model, range(16))
        assert asked <= 3, (
            "at first contact, beside the first calls, and once more where the former was under "
            "way when they began"
        )
        assert server.listed == asked

    with ChatServer(latency_s=0.01) as server:
        drive([server], scene, max_in_flight=16)


def test_a_queue_that_a_server_no_longer_shows_does_not_hold_the_room_down() -> None:
    now = [0.0]

    async def scene(server: ChatServer) -> None:
        settings = ModelSettings(
            engine="vllm", base_url=server.url, model="test-model", max_in_flight=8
        )
        pacing = Pacing(lambda: 0.1, asyncio.sleep, lambda: now[0], time.time)
        fleet = Fleet([HTTPServer(server.url, settings)], settings, pacing)

        async def ask_after(seconds: float, calls: int = 1) -> int:
            now[0] += seconds
            body = request_body("test-model", conversation(0), (), Sampling(), {})
            posts = [Post("/chat/completions", body, conversation(0)) for _ in range(calls)]
            await asyncio.gather(*(fleet.post(post, 10) for post in posts))
            await asyncio.sleep(0.05)
            return fleet.room

        await ask_after(0)
        await ask_after(6, calls=8)
        fallen = await ask_after(2)
        server.shows_queue = False
        await ask_after(6)
        assert fallen < 8, "1 of 8 ran and 7 waited: half of 7 / 8 is the share"
        assert [await ask_after(2) for _ in range(4)][-1] == 8
        await fleet.close()

    with ChatServer(slots=1, latency_s=0.03) as server:
        asyncio.run(scene(server))


def test_an_only_server_that_restarts_costs_no_call_however_few_the_retries(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = ChatServer().__enter__()

    async def scene(model: ServerChat) -> list[Completion]:
        await ask(model, 0)
        await asyncio.to_thread(server.__exit__)
        calls = asyncio.create_task(all_of(model, range(30)))
        await asyncio.sleep(0.3)
        again = await asyncio.to_thread(ChatServer(port=server.port).__enter__)
        replies = await calls
        await asyncio.to_thread(again.__exit__)
        return replies

    assert len(drive([server], scene, max_retries=0)) == 30
    said = [
        record.message
        for record in caplog.records
        if record.name == "synth.models.servers.fleet_member"
    ]
    assert len(said) >= 2
    assert "connection lost" in said[0]
    assert said[0].endswith("; calls wait for it, each up to 600 s")
    assert said[-1].endswith("is well again")


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
