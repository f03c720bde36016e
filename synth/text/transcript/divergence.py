"""Where two trajectories part: the first turn at which agents or environments differ."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from synth.schemas import Observation, Trajectory, Turn


class Parting(StrEnum):
    """What differs first."""

    OPENING = "opening"
    ACTION = "action"
    OBSERVATION = "observation"
    STATE = "state"
    END = "end"


class Divergence(msgspec.Struct, frozen=True):
    """The first difference; `turn` is None for the opening.

    `left` and `right` are what stands there, as plain data.
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
    for left, right in zip(_steps(a), _steps(b), strict=False):
        whats = {left[1], right[1]}
        if left != right and whats != {Parting.END}:
            # where one has ended, that differs from whatever the other does there
            what = Parting.END if Parting.END in whats else left[1]
            return Divergence(left[0], what, left[2], right[2])

    return None


def _steps(trajectory: Trajectory) -> Iterator[tuple[int | None, Parting, Any]]:
    """(turn, what, as plain data) of all that may differ, in the order in which it came about."""
    opening = [seen(one) for one in trajectory.opening]
    shown = (trajectory.system_prompt, list(trajectory.tools), opening)
    yield None, Parting.OPENING, shown
    yield None, Parting.STATE, trajectory.opening_state_key

    for turn in trajectory.turns:
        yield turn.index, Parting.ACTION, done(turn)
        yield turn.index, Parting.OBSERVATION, [seen(one) for one in turn.observations]
        yield turn.index, Parting.STATE, turn.state_key

    yield len(trajectory.turns), Parting.END, f"ended: {trajectory.termination}"


def done(turn: Turn) -> dict[str, Any]:
    """What a turn does, as two trajectories are compared by: its text, and its calls.

    Arguments that are no JSON object stay text.
    """
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments if call.parse_error is not None else call.parsed(),
        }
        for call in turn.tool_calls
    ]
    return {"content": turn.content, "tool_calls": calls}


def seen(observation: Observation) -> dict[str, Any]:
    """An observation as two trajectories are compared by: without its call id."""
    return {
        "source": observation.source,
        "name": observation.name,
        "content": observation.content,
        "error": observation.error,
    }
