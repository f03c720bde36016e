"""The echo world with trouble in its last turn for one task in three, for as long as a file lies
where the settings say.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.envs.echo import SPEC, EchoConfig, EchoEnv
from synth.envs.echo import make_tasks as make_echo_tasks
from synth.envs.world import EnvEntry
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.task import Task


class TroubledConfig(BaseModel):
    """What goes wrong, and the file that says that it still does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trouble: Literal["hangs", "hangs_on_a_thread", "hangs_on_the_loop", "allocates"]
    while_there: str
    turns: int = 3


class TroubledEnv(EchoEnv):
    """An echo desk that breaks down."""

    def __init__(self, config: TroubledConfig) -> None:
        super().__init__(EchoConfig(turns=config.turns))
        self._own = config
        self._struck = False

    @property
    def spec(self) -> EnvSpec:
        """Echo's; stepped on threads where it hangs on one."""
        return msgspec.structs.replace(
            SPEC, name="troubled", blocking=self._own.trouble == "hangs_on_a_thread"
        )

    async def reset(self, task: Task | None) -> Opening:
        """As echo; tasks are struck by their id."""
        self._struck = task is not None and struck(task.task_id)
        return await super().reset(task)

    async def step(self, turn: AgentTurn) -> Response:
        """As echo, until the trouble."""
        response = await super().step(turn)
        if response.done and self._struck and self._troubled():
            match self._own.trouble:
                case "hangs":
                    await asyncio.Event().wait()
                case "hangs_on_a_thread" | "hangs_on_the_loop":
                    self._sleep()
                case "allocates":
                    taken = []
                    while True:
                        taken.append(bytearray(32 << 20))
        return response

    def _troubled(self) -> bool:
        return Path(self._own.while_there).exists()

    def _sleep(self) -> None:
        while self._troubled():
            time.sleep(0.05)


def struck(task_id: str) -> bool:
    """Whether a task is one of those with trouble."""
    return int(task_id[:6], 16) % 3 == 0


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """Echo's tasks, under this world's name."""
    made = make_echo_tasks({"turns": config.get("turns", 3)}, seed, count)
    return [
        Task.identified(
            env="tests.chaos.troubled_world:WORLD",
            env_config=dict(config),
            goal=task.goal,
            seed=task.seed,
            check=task.check,
        )
        for task in made
    ]


WORLD = EnvEntry(
    msgspec.structs.replace(SPEC, name="troubled"),
    lambda config: TroubledEnv(TroubledConfig.model_validate(dict(config))),
    make_tasks,
    TroubledConfig,
)
