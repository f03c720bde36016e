"""A world whose every answer can be replaced by another."""

from typing import Any

from synth.envs.echo import WORLD
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn, Opening, Response
from synth.schemas.trajectory import Observation, Source


class Odd:
    """Ends after one turn; `answers` replace what reset, step or check give, and are raised where
    they are exceptions.
    """

    spec = WORLD.spec

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def _answer(self, method: str, sound: Any) -> Any:
        answer = self._answers.get(method, sound)
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    async def reset(self, task: Any) -> Any:
        return self._answer("reset", Opening("", (), ()))

    async def step(self, turn: AgentTurn) -> Any:
        return self._answer("step", Response((Observation("ok", Source.USER),), "k", 1.0, True))

    async def check(self) -> Any:
        return self._answer("check", CheckResult(True))

    async def close(self) -> None:
        self._answer("close", None)
