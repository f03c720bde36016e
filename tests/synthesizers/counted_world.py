"""The echo world, counting how many of it are open at a time."""

from typing import Any

from msgspec.structs import replace

from synth.envs.echo import WORLD as ECHO
from synth.envs.world import EnvEntry
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.task import Task

NAME = "tests.synthesizers.counted_world:WORLD"
open_now: list[int] = [0]
most: list[int] = [0]


class Counted:
    def __init__(self, config: Any) -> None:
        self._env = ECHO.open(config)
        open_now[0] += 1
        most[0] = max(most[0], open_now[0])

    @property
    def spec(self) -> EnvSpec:
        return self._env.spec

    async def reset(self, task: Task | None) -> Opening:
        return await self._env.reset(task)

    async def step(self, turn: AgentTurn) -> Response:
        return await self._env.step(turn)

    async def check(self) -> CheckResult:
        return await self._env.check()

    async def close(self) -> None:
        open_now[0] -= 1


def make_tasks(config: Any, seed: int, count: int) -> list[Task]:
    return [replace(task, env=NAME) for task in ECHO.make_tasks(config, seed, count)]


WORLD = EnvEntry(ECHO.spec, Counted, make_tasks, ECHO.config)
