"""Trajectories that a rubric is asked about."""

import json
from typing import Any

from synth.schemas.filtering import Case
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Turn


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall.received("c", name, json.dumps(arguments))


def case(
    calls: list[ToolCall],
    gold: list[ToolCall] | None,
    *,
    solved: bool = True,
    answers: list[str] | None = None,
) -> Case:
    answers = answers or ["ok"] * len(calls)
    turns = tuple(
        Turn(i, tool_calls=(one,), observations=(Observation(answers[i]),))
        for i, one in enumerate(calls)
    )
    outcome = Outcome.SUCCESS if solved else Outcome.FAILURE
    task = Task.identified(env="w", goal="g", gold=None if gold is None else tuple(gold))
    trajectory = Trajectory(
        trajectory_id="t",
        slot_id="s",
        attempt=0,
        task_id=task.task_id,
        env="w",
        trial=0,
        synthesizer="rollout",
        policy="p",
        outcome=outcome,
        termination=Termination.DONE,
        turns=turns,
        reward=float(solved),
    )
    return Case(trajectory, task, lambda name, config: None)  # type: ignore[arg-type,return-value]
