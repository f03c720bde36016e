"""Servers that come back: what they serve is asked anew, and no reply has the weights of before."""

import asyncio
import time

import pytest

from synth.models.backoff import Pacing
from synth.models.servers.chat_request import Post, request_body
from synth.models.servers.fleet import Fleet
from synth.models.servers.http_chat import open_vllm as open_fleet
from synth.models.servers.http_server import HTTPServer
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Sampling
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.fleets import all_of, ask, conversation, drive


@pytest.mark.slow
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


@pytest.mark.slow
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
