"""Conversations with a model behind several servers."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from synth.models.servers.http_chat import open_vllm as open_fleet
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Sampling
from tests.synth.models.chat_server import ChatServer

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
