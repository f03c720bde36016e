"""What the environments of ours need for an episode besides their rules: a state put aside, the
profile of an expert, an episode done again for its verdict.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

from synth.schemas import (
    AgentTurn,
    CheckResult,
    ConfigError,
    Env,
    EnvSpec,
    Snapshot,
    Task,
    ToolCall,
    Trajectory,
    canonical_json,
    spared,
)


class UnfitError(ConfigError, ValueError):
    """An environment was given a snapshot, or a profile, of another one."""


def fits(snapshot: Snapshot, spec: EnvSpec) -> bytes:
    """The state in a snapshot. Raises `UnfitError` for one of another environment or version."""
    if (snapshot.env, snapshot.version) != (spec.name, spec.version):
        said = f"{snapshot.env} {snapshot.version}"
        raise UnfitError(f"a snapshot of {said} does not fit {spec.name} {spec.version}")
    return snapshot.blob


def profile_of(spec: EnvSpec, profile: str | None, seed: int | str) -> str:
    """The profile that an expert plays: `mixed` draws one by the seed; one that guidance has rid
    it of is `correct`. Raises `UnfitError` for one that the environment does not have.
    """
    known = ("correct", *spec.profiles)
    name, rid = spared(profile)
    chosen = Random(seed).choice(known) if name == "mixed" else name
    chosen = "correct" if chosen in rid else chosen
    if chosen not in known:
        *names, last = "correct", "mixed", *spec.profiles
        there = f"{', '.join(names)} and {last}"
        raise UnfitError(f"{spec.name} has no expert profile {chosen!r}; it has {there}")
    return chosen


async def done_again(env: Env, task: Task, trajectory: Trajectory) -> CheckResult:
    """The task's present check, over the recorded turns done again in a fresh instance."""
    await env.reset(task)
    for turn in trajectory.turns:
        await env.step(AgentTurn(turn.content, turn.tool_calls))
    return await env.check()


def call_turn(number: int, name: str, arguments: Mapping[str, Any]) -> AgentTurn:
    """A turn of one call; `number` is that of the turn, by which the call's id is unique."""
    text = canonical_json(arguments).decode()
    return AgentTurn(tool_calls=(ToolCall.received(f"call_{number}", name, text),))
