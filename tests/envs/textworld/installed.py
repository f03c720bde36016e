"""TextWorld for these tests: small games, turns, episodes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from synth.envs.textworld import WORLD
from synth.schemas.environment import AgentTurn, Env, Response
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

SEED = 7
SMALL = {"rooms": 3, "objects": 6, "quest_length": 4}


def tasks(count: int = 2, **settings: Any) -> list[Task]:
    return list(WORLD.make_tasks(SMALL | settings, SEED, count))


def calls(*done: tuple[str, dict[str, Any]]) -> AgentTurn:
    return AgentTurn(
        tool_calls=tuple(
            ToolCall.received(f"c{n}", name, json.dumps(given))
            for n, (name, given) in enumerate(done)
        )
    )


def played(task: Task | None, play: Callable[[Env], Awaitable[Any]]) -> Any:
    """What a coroutine makes of a freshly reset world."""

    async def run() -> Any:
        env = WORLD.open(task.env_config if task is not None else SMALL)
        await env.reset(task)
        try:
            return await play(env)
        finally:
            await env.close()

    return asyncio.run(run())


async def solve(
    env: Env, profile: str | None = None, seed: int = 0, most: int = 200
) -> list[Response]:
    """The expert to the end."""
    responses: list[Response] = []
    while len(responses) < most and not (responses and responses[-1].done):
        responses.append(await env.step(await env.expert(profile, seed)))
    return responses
