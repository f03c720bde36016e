"""The echo world behind a desk that numbers its answers anew each time it is asked; what is echoed
is the same.
"""

import json
from itertools import count
from typing import Any

import msgspec

from synth.envs.echo import WORLD as ECHO
from synth.envs.world import EnvEntry
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.task import Task

NAME = "tests.synth.topology.restless_world:WORLD"
_numbers = count(1000)


class Restless:
    def __init__(self, config: Any) -> None:
        self._env = ECHO.open(config)

    @property
    def spec(self) -> EnvSpec:
        return SPEC

    async def reset(self, task: Task | None) -> Opening:
        return await self._env.reset(task)

    async def step(self, turn: AgentTurn) -> Response:
        response = await self._env.step(turn)
        said = tuple(
            msgspec.structs.replace(
                o, content=json.dumps({"said": o.content, "request": next(_numbers)})
            )
            for o in response.observations
        )
        return msgspec.structs.replace(response, observations=said, state_key=None)

    async def check(self) -> CheckResult:
        return await self._env.check()

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        return await self._env.expert(profile, seed)

    async def close(self) -> None:
        await self._env.close()


def make_tasks(config: Any, seed: int, count: int) -> list[Task]:
    return [
        msgspec.structs.replace(task, env=NAME) for task in ECHO.make_tasks(config, seed, count)
    ]


SPEC = msgspec.structs.replace(
    ECHO.spec, name=NAME, capabilities=frozenset({"expert", "tasks"}), deterministic=False
)
WORLD = EnvEntry(SPEC, Restless, make_tasks, ECHO.config)
