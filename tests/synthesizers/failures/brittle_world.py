"""The echo world, which breaks as soon as more words are said than the task asks for."""

from typing import Any

from msgspec.structs import replace

from synth.envs.echo import WORLD as ECHO
from synth.envs.world import EnvEntry
from synth.schemas.check import CheckResult, Facts
from synth.schemas.environment import AgentTurn, Opening, Response
from synth.schemas.task import Task

NAME = "tests.synthesizers.failures.brittle_world:WORLD"
SPEC = replace(ECHO.spec, name=NAME, capabilities=frozenset({"expert", "facts", "tasks"}))


class Brittle:
    spec = SPEC

    def __init__(self, config: Any) -> None:
        self._env = ECHO.open(config)
        self._left = 0

    async def reset(self, task: Task | None) -> Opening:
        opening = await self._env.reset(task)
        self._left = len(task.goal.rpartition(": ")[2].split()) if task is not None else 1000
        return opening

    async def step(self, turn: AgentTurn) -> Response:
        self._left -= sum(call.name == "echo" for call in turn.tool_calls)
        if self._left < 0:
            raise RuntimeError("planned: one word too many")
        return await self._env.step(turn)

    async def check(self) -> CheckResult:
        return await self._env.check()

    async def facts(self) -> Facts:
        return await self._env.facts()

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        return await self._env.expert(profile, seed)

    async def close(self) -> None:
        await self._env.close()


def make_tasks(config: Any, seed: int, count: int) -> list[Task]:
    return [replace(task, env=NAME) for task in ECHO.make_tasks(config, seed, count)]


WORLD = EnvEntry(SPEC, Brittle, make_tasks, ECHO.config)
