"""Small trajectories for the tests of topology: written by hand, one letter per turn."""

import json
from typing import Any

from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Turn


def turn(
    index: int, tool: str, answer: str = "ok", state: str | None = None, **arguments: Any
) -> Turn:
    call = ToolCall.received(f"c{index}", tool, json.dumps(arguments))
    return Turn(
        index,
        tool_calls=(call,),
        observations=(Observation(answer, call_id=f"c{index}"),),
        state_key=state,
    )


def trial(name: str, turns: list[Turn] | str, success: bool, **changes: Any) -> Trajectory:
    """A trial of task `t`; turns given as a string are calls of tools with those letters as
    names.
    """
    made = (
        [turn(index, tool) for index, tool in enumerate(turns)] if isinstance(turns, str) else turns
    )
    given: dict[str, Any] = {
        "trajectory_id": name,
        "slot_id": name,
        "attempt": 0,
        "task_id": "t",
        "env": "e",
        "trial": 0,
        "synthesizer": "rollout",
        "policy": "chat",
        "outcome": Outcome.SUCCESS if success else Outcome.FAILURE,
        "termination": Termination.DONE,
        "turns": tuple(made),
    }
    return Trajectory(**given | changes)
