"""What a reply's latency counts."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from synth.models.servers.http_chat import open_openai, open_vllm
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Sampling
from tests.synth.models.chat_server import ChatServer


@pytest.mark.parametrize("opened", [open_openai, open_vllm], ids=("openai", "vllm"))
def test_time_for_which_our_own_event_loop_stood_still_is_no_latency_of_the_model(
    opened: Callable[..., Any],
) -> None:
    """A commit to a slow disk, a process that was stopped: no agent runs into its time limit for
    that.
    """

    async def scene(url: str) -> Completion:
        model = opened(ModelSettings(base_url=url, model="test-model"))
        try:
            asking = asyncio.create_task(
                model.complete([{"role": "user", "content": "hello"}], (), Sampling())
            )
            await asyncio.sleep(0.05)
            time.sleep(0.3)  # noqa: ASYNC251 - what it is about
            return await asking
        finally:
            await model.close()

    with ChatServer(latency_s=0.05) as server:
        reply = asyncio.run(scene(server.url))
    assert reply.latency_ms is not None
    assert reply.latency_ms < 200
