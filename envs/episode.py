"""What the environments of ours need for an episode besides their rules: answers to calls and
words, a state put aside, the profile of an expert, an episode done again for its verdict.
"""

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from synth.schemas import (
    AgentTurn,
    CheckResult,
    ConfigError,
    Env,
    EnvSpec,
    Observation,
    Snapshot,
    Source,
    Task,
    ToolCall,
    ToolSchema,
    Trajectory,
    Window,
    canonical_json,
    spared,
    valid_text,
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
    return AgentTurn(tool_calls=(call_of(f"call_{number}", name, arguments),))


def call_of(call_id: str, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """A call with these arguments."""
    return ToolCall.received(call_id, name, canonical_json(arguments).decode())


def tool_schema(name: str, description: str, parameters: Mapping[str, Any]) -> ToolSchema:
    """A tool as a model is shown it."""
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def answer(call: ToolCall, said: str, *, failed: bool = False) -> Observation:
    """A tool's answer to a call."""
    name = valid_text(call.name)
    return Observation(valid_text(said), Source.TOOL, call.call_id, name, failed)


class LastWords(NamedTuple):
    """What is answered where words without a call end the work: `over` to what comes after the
    end, `empty` to a turn without any words.
    """

    over: str
    empty: str
    thanks: str = "Thank you."

    def answer(self, turn: AgentTurn, *, over: bool) -> tuple[Observation, bool]:
        """The answer to a turn without calls, and whether the work is over after it."""
        if not over and (turn.content or "").strip():
            return Observation(self.thanks, Source.USER), True

        why = self.over if over else self.empty
        return Observation(why, Source.ENVIRONMENT, error=True), over


def instructions(window: Window) -> tuple[str, ...]:
    """The calls of an exploration's window, each as a sentence."""
    return tuple(
        f"Call {call.name} with {call.arguments}."
        for operation in window.operations
        for call in operation.turn.tool_calls
    )
