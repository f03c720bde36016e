"""The echo desk with a level: the harder, the more words. And a policy that hears a word wrong now and then."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from envs import echo
from envs.world import World
from schemas.environment import AgentTurn
from schemas.policy import Act, Episode, PolicySpec, View
from schemas.task import Task
from schemas.trajectory import Authorship, ToolCall
from synth.policies.chance import turn_draws

NAME = "tests.flows.leveled_world:WORLD"
MOST_WORDS = 9
WRONG = 1 / 6


class LeveledConfig(BaseModel):
    """`level` 0: one word, 1: nine more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: float = Field(default=0.5, ge=0, le=1)


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """As the echo desk does."""
    level = LeveledConfig.model_validate(dict(config)).level
    made = echo.make_tasks({"turns": 1 + round(MOST_WORDS * level)}, seed, count)
    fields = [{name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"} for task in made]
    return tuple(Task.identified(**{**own, "env": NAME, "difficulty": {"words": len(own["goal"].split())}}) for own in fields)


class _HardOfHearing:
    def __init__(self, episode: Episode) -> None:
        self.episode = episode

    async def act(self, view: View) -> Act:
        turn = await self.episode.env.expert("correct", 0)
        wrong = turn_draws(self.episode, view).random() < WRONG and turn.tool_calls[0].name == "echo"
        return Act(turn=AgentTurn(tool_calls=(ToolCall.received("wrong", "echo", '{"text": "what?"}'),)) if wrong else turn)


def hard_of_hearing(settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]) -> PolicySpec:
    """A policy that gets one word in six wrong."""
    return PolicySpec(name="hard_of_hearing", authorship=Authorship.SCRIPTED, identity={"policy": "hard"}, open=_HardOfHearing)


WORLD = World(msgspec.structs.replace(echo.SPEC, name=NAME), lambda config: echo.open_echo({}), make_tasks, LeveledConfig, level="level")
