"""Any of the things that could be done now, each as likely: the explorer without an aim."""

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.boundary import guard_async
from synth.policies.capability import require
from synth.policies.chance import turn_draws
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Fault
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.strict_settings import strictly
from synth.schemas.trajectory import Authorship

NOTHING_LEFT = AgentTurn("There is nothing that I can do.")


class RandomConfig(BaseModel):
    """No settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _RandomWalk:
    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        """One of the world's affordances; says so where there is none."""
        turns = await guard_async(
            Fault.ENVIRONMENT, "affordances", self._episode.env.affordances, None
        )
        turn = turn_draws(self._episode, view).choice(turns) if turns else NOTHING_LEFT
        return Act(turn=msgspec.structs.replace(turn, thought=None))


def random_policy(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """A seeded random walk. Opening it raises `ConfigError` for a world without affordances."""
    strictly(RandomConfig, dict(settings))

    def open_walk(episode: Episode) -> Policy:
        require(episode, "affordances", "random")
        return _RandomWalk(episode)

    return PolicySpec(
        name="random", authorship=Authorship.SCRIPTED, identity={"policy": "random"}, open=open_walk
    )
