"""Policies that ask no model: the world's own planner, and a walk through what the world affords.

The planner knows only what was observed, and errs by a persistent misconception.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict

from synth.boundary import guard_async
from synth.policies.chance import trial_seed, turn_draws
from synth.schemas import (
    Act,
    AgentTurn,
    Authorship,
    ConfigError,
    Episode,
    Fault,
    Guidance,
    Policy,
    PolicySpec,
    View,
    strictly,
    without,
)

NOTHING_LEFT = AgentTurn("There is nothing that I can do.")


def require(episode: Episode, capability: str, policy: str) -> None:
    """Raises `ConfigError` where the world lacks a capability."""
    spec = episode.env.spec
    if capability not in spec.capabilities:
        able = ", ".join(sorted(spec.capabilities)) or "nothing of the kind"
        raise ConfigError(
            f"policy {policy}: world {spec.name} has no {capability} (it offers {able}); choose "
            "another policy for it"
        )


class ExpertConfig(BaseModel):
    """`profiles`: `correct`, the name of one of the world's misconceptions, or `mixed` (each trial
    draws one and keeps it).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    profiles: str = "correct"


def heeded(profile: str, guidance: Guidance | None, known: Sequence[str]) -> str:
    """The profile that is left: the planner understands of guidance only the misconceptions that it
    names, and is rid of them.
    """
    if guidance is None:
        return profile
    return without(profile, frozenset(re.findall(r"\w+", guidance.text)) & frozenset(known))


class _Expert:
    def __init__(self, episode: Episode, config: ExpertConfig) -> None:
        self._env = episode.env
        self._profile = config.profiles
        self._seed = trial_seed(episode)

    async def act(self, view: View) -> Act:
        """What the planner does next; its thoughts, if any, are not the agent's."""
        profile = heeded(self._profile, view.guidance, self._env.spec.profiles)
        turn = await guard_async(
            Fault.ENVIRONMENT, "expert", lambda: self._env.expert(profile, self._seed), None
        )
        return Act(turn=replace(turn, thought=None))


def expert_policy(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """The expert with one profile for every trial, or `mixed`.

    Opening it raises `ConfigError` for a world without an expert, or one that does not know the
    profile.
    """
    config = strictly(ExpertConfig, dict(settings))

    def open_expert(episode: Episode) -> Policy:
        require(episode, "expert", "expert")
        known = ("correct", "mixed", *episode.env.spec.profiles)
        if config.profiles not in known:
            raise ConfigError(
                f"policy expert: world {episode.env.spec.name} has no profile "
                f"{config.profiles!r}; it has {', '.join(known)}"
            )
        return _Expert(episode, config)

    return PolicySpec(
        name="expert",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "expert", "profiles": config.profiles},
        open=open_expert,
        deterministic=config.profiles != "mixed",
    )


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
        return Act(turn=replace(turn, thought=None))


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
