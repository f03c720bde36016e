"""Servers with less room than `max_in_flight`: no call is lost, and the client settles near what
there is room for.
"""

import asyncio
import time
from typing import Any

import pytest

from synth.models.admission import ConcurrencyLimit
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Sampling
from tests.synth.models.chat_server import ChatServer


def drive(server: ChatServer, calls: int, **more: Any) -> list[Completion]:
    async def scene() -> list[Completion]:
        model = open_model(ModelSettings(base_url=server.url, model="test-model", **more))
        questions = [[{"role": "user", "content": str(number)}] for number in range(calls)]
        replies = await asyncio.gather(
            *(model.complete(question, (), Sampling()) for question in questions)
        )
        await model.close()
        return list(replies)

    return asyncio.run(scene())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["openai", "vllm"])
def test_a_server_that_turns_calls_away_loses_none_however_few_the_retries(engine: str) -> None:
    with ChatServer(slots=4, queue=False, latency_s=0.02) as server:
        replies = drive(server, 150, engine=engine, max_in_flight=32, max_retries=0)
        counts = server.counts()
    assert len({reply.content for reply in replies}) == 150
    assert counts["answered"] == 150
    assert counts["turned_away"] > 0


@pytest.mark.slow
def test_the_limit_falls_towards_what_the_server_has_room_for() -> None:
    with ChatServer(slots=8, queue=False, latency_s=0.05) as server:
        began = time.perf_counter()
        drive(server, 500, engine="vllm", max_in_flight=64)
        took_s = time.perf_counter() - began
        counts = server.counts()
    assert counts["answered"] == 500
    assert took_s < 3 * 500 * 0.05 / 8, "three times what 8 at a time take: it waits little"


def test_admission_follows_the_room_down_and_up_in_the_order_of_arrival() -> None:
    async def scene() -> list[int]:
        room, order, gate = [2], [], ConcurrencyLimit(4, lambda: room[0])
        leave = [asyncio.Event() for _ in range(8)]

        async def call(number: int) -> None:
            async with gate:
                order.append(number)
                await leave[number].wait()

        calls = [asyncio.create_task(call(number)) for number in range(8)]
        await asyncio.sleep(0)
        assert order == [0, 1]
        room[0] = 1
        leave[0].set()
        await asyncio.sleep(0.01)
        assert order == [0, 1], "one leaves, and there is room for one less"
        room[0] = 9
        leave[1].set()
        await asyncio.sleep(0.01)
        assert order == [0, 1, 2, 3, 4, 5], "never more than the limit of four"
        for event in leave:
            event.set()
        await asyncio.gather(*calls)
        assert (gate.in_flight, gate.waiting) == (0, 0)
        return order

    assert asyncio.run(scene()) == list(range(8))


def test_room_for_none_still_lets_one_through() -> None:
    async def scene() -> None:
        gate = ConcurrencyLimit(4, lambda: 0)
        async with gate:
            assert gate.in_flight == 1

    asyncio.run(scene())
