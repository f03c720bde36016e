"""The echo desk with a level: the harder, the more words; the same, closed for some tasks; and a
policy that mishears now and then.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.envs import echo
from synth.envs.world import EnvEntry
from synth.policies.chance import turn_draws
from synth.schemas.environment import AgentTurn, EnvSpec, Opening
from synth.schemas.policy import Act, Episode, PolicySpec, View
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, ToolCall

NAME = "tests.flows.leveled_world:WORLD"
CLOSED_NAME = "tests.flows.leveled_world:CLOSED_WORLD"
FEW_NAME = "tests.flows.leveled_world:FEW_WORLD"
MISNAMED_NAME = "tests.flows.leveled_world:MISNAMED_WORLD"
MOST_WORDS = 9
WRONG = 1 / 6


class LeveledConfig(BaseModel):
    """`level` 0: one word, 1: nine more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: float = Field(default=0.5, ge=0, le=1)


def make_tasks(
    config: Mapping[str, Any], seed: int, count: int, name: str = NAME
) -> Sequence[Task]:
    """As the echo desk does."""
    level = LeveledConfig.model_validate(dict(config)).level
    made = echo.make_tasks({"turns": 1 + round(MOST_WORDS * level)}, seed, count)
    fields = [
        {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
        for task in made
    ]
    return tuple(
        Task.identified(**{**own, "env": name, "difficulty": {"words": len(own["goal"].split())}})
        for own in fields
    )


def few_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """Three tasks of a level, again and again."""
    made = make_tasks(config, 0, 3, FEW_NAME)
    return tuple(made[index % 3] for index in range(count))


closed_share: list[float] = [0.0]
"""Of the tasks of `CLOSED_WORLD`: those at which its `reset` raises."""


class _SometimesClosed:
    def __init__(self) -> None:
        self._desk = echo.open_echo({})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desk, name)

    async def reset(self, task: Task | None) -> Opening:
        if task is not None and int(task.task_id[:4], 16) < closed_share[0] * 0x10000:
            raise RuntimeError("the desk is closed")
        return await self._desk.reset(task)


class _HardOfHearing:
    def __init__(self, episode: Episode) -> None:
        self.episode = episode

    async def act(self, view: View) -> Act:
        turn = await self.episode.env.expert("correct", 0)
        wrong = (
            turn_draws(self.episode, view).random() < WRONG and turn.tool_calls[0].name == "echo"
        )
        return Act(
            turn=AgentTurn(tool_calls=(ToolCall.received("wrong", "echo", '{"text": "what?"}'),))
            if wrong
            else turn
        )


def hard_of_hearing(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """A policy that gets one word in six wrong."""
    return PolicySpec(
        name="hard_of_hearing",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "hard"},
        open=_HardOfHearing,
    )


def _spec(name: str) -> EnvSpec:
    return msgspec.structs.replace(echo.SPEC, name=name)


WORLD = EnvEntry(
    _spec(NAME), lambda config: echo.open_echo({}), make_tasks, LeveledConfig, level="level"
)
CLOSED_WORLD = EnvEntry(
    _spec(CLOSED_NAME),
    lambda config: _SometimesClosed(),
    partial(make_tasks, name=CLOSED_NAME),
    LeveledConfig,
    level="level",
)
FEW_WORLD = EnvEntry(
    _spec(FEW_NAME), lambda config: echo.open_echo({}), few_tasks, LeveledConfig, level="level"
)
MISNAMED_WORLD = EnvEntry(
    _spec(MISNAMED_NAME),
    lambda config: echo.open_echo({}),
    make_tasks,
    LeveledConfig,
    level="strength",
)
