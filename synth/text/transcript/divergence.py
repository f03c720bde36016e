"""Where two trajectories part: the first turn at which the agents did, or the world answered,
something else.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Turn


class Parting(StrEnum):
    """What differs first."""

    OPENING = "opening"
    ACTION = "action"
    OBSERVATION = "observation"
    STATE = "state"
    END = "end"


class Divergence(msgspec.Struct, frozen=True):
    """The first difference; `turn` is None for the opening. `left` and `right` are what stands
    there, as plain data.
    """

    turn: int | None
    what: Parting
    left: Any
    right: Any


def first_divergence(a: Trajectory, b: Trajectory) -> Divergence | None:
    """The first difference of two trajectories, None where they did and saw the same.

    Call ids and thoughts do not count (the world never sees them), nor does the order of keys in a
    call's arguments.
    """
    openings = [(t.system_prompt, list(t.tools), [seen(o) for o in t.opening]) for t in (a, b)]
    if openings[0] != openings[1]:
        return Divergence(None, Parting.OPENING, openings[0], openings[1])
    if a.opening_state_key != b.opening_state_key:
        return Divergence(None, Parting.STATE, a.opening_state_key, b.opening_state_key)
    for left, right in zip(a.turns, b.turns, strict=False):
        parting = _parting(left, right)
        if parting is not None:
            return parting
    if len(a.turns) != len(b.turns):
        common = min(len(a.turns), len(b.turns))
        return Divergence(common, Parting.END, _at(a, common), _at(b, common))
    return None


def _parting(left: Turn, right: Turn) -> Divergence | None:
    """The first difference within one turn."""
    if done(left) != done(right):
        return Divergence(left.index, Parting.ACTION, done(left), done(right))
    answers = [[seen(o) for o in turn.observations] for turn in (left, right)]
    if answers[0] != answers[1]:
        return Divergence(left.index, Parting.OBSERVATION, answers[0], answers[1])
    if left.state_key != right.state_key:
        return Divergence(left.index, Parting.STATE, left.state_key, right.state_key)
    return None


def done(turn: Turn) -> dict[str, Any]:
    """What a turn does: its text and its calls, as two trajectories are compared by."""
    return {"content": turn.content, "tool_calls": [_called(call) for call in turn.tool_calls]}


def _called(call: ToolCall) -> dict[str, Any]:
    """A call by name and arguments; arguments that are no JSON object stay text."""
    return {
        "name": call.name,
        "arguments": call.arguments if call.parse_error is not None else call.parsed(),
    }


def seen(observation: Observation) -> dict[str, Any]:
    """An observation as two trajectories are compared by: without its call id."""
    return {
        "source": observation.source,
        "name": observation.name,
        "content": observation.content,
        "error": observation.error,
    }


def _at(trajectory: Trajectory, turn: int) -> Sequence[Any] | dict[str, Any] | str:
    """What a trajectory does at a turn, or how it ended before."""
    return (
        done(trajectory.turns[turn])
        if turn < len(trajectory.turns)
        else f"ended: {trajectory.termination}"
    )
