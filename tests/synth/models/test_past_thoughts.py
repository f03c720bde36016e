"""How a model's past thoughts go back to its server, where a flow sends them (`send_thoughts`)."""

import asyncio

import pytest

from synth.models.servers.http_chat import open_openai, open_vllm
from synth.models.settings import ModelSettings
from synth.schemas.model import Sampling
from tests.synth.models.chat_server import ChatServer

OPENERS = {"openai": open_openai, "vllm": open_vllm}
QUESTION = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("engine", "names"),
    [("vllm", {"reasoning", "reasoning_content"}), ("openai", {"reasoning_content"})],
)
def test_a_past_thought_is_sent_under_every_name_by_which_vllm_reads_it_and_under_one_to_others(
    engine: str, names: set[str]
) -> None:
    history = [
        *QUESTION,
        {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"},
        {"role": "user", "content": "sure?"},
    ]

    async def scene(server: ChatServer) -> None:
        model = OPENERS[engine](
            ModelSettings(engine=engine, base_url=server.url, model="test-model")
        )
        await model.complete(history, (), Sampling())
        await model.close()

    with ChatServer() as server:
        asyncio.run(scene(server))
        first, past, last = server.bodies[0]["messages"]
    assert (first, last) == (history[0], history[2])
    assert past == {"role": "assistant", "content": "4", **dict.fromkeys(names, "2 + 2")}
