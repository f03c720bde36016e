"""One call to an engine behind HTTP, with waits that take no time."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from synth.models.servers.http_chat import open_openai, open_vllm
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Sampling
from tests.synth.models.chat_server import ChatServer

Ask = Callable[..., Completion]


QUESTION = [{"role": "user", "content": "hello"}]


TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "echo",
            "description": "",
            "parameters": {"type": "object", "properties": {}},
        },
    },
)


OPENERS = {"openai": open_openai, "vllm": open_vllm}


@pytest.fixture(params=OPENERS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(engine: str) -> Ask:
    """One call with waits that take no time."""

    def asked(
        server: ChatServer,
        *,
        sampling: Sampling | None = None,
        tools: Sequence[Any] = (),
        slept: list[float] | None = None,
        **more: Any,
    ) -> Completion:
        async def sleep(seconds: float) -> None:
            if slept is not None:
                slept.append(seconds)

        async def scene() -> Completion:
            settings = ModelSettings(engine=engine, base_url=server.url, model="test-model", **more)
            model = OPENERS[engine](settings, draw=lambda: 0.0, sleep=sleep)
            try:
                return await model.complete(QUESTION, tools, sampling or Sampling())
            finally:
                await model.close()

        return asyncio.run(scene())

    return asked
