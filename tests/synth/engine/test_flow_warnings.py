"""Stages that stand where they find nothing to work on are named before anything is made."""

from typing import Any

import pytest

from synth.engine.flow_warnings import no_op_stages
from synth.schemas.flow import Flow

ROLLOUT = {"rollout": {"trials": 1}}


def said(*stages: Any) -> list[str]:
    return list(no_op_stages(Flow.model_validate({"name": "f", "stages": list(stages)})))


@pytest.mark.parametrize(
    "stage",
    [
        "reflect_retry",
        "critical_step",
        "failure_injection",
        {"trajectory_reward": {"tasks": "all"}},
    ],
)
def test_a_stage_of_trials_before_every_rollout_is_named_with_its_place(stage: Any) -> None:
    (line,) = said("topology", stage, ROLLOUT)
    name = stage if isinstance(stage, str) else "trajectory_reward"
    assert line.startswith(f"f: stages[1].{name} works on the trials of a rollout before it")
    assert line.endswith("put `rollout` before it")
    assert said(ROLLOUT, stage) == said({"mine.stages:COLLECT": {}}, stage) == []


@pytest.mark.parametrize("stage", ["reflect_retry", "critical_step", "failure_injection"])
def test_without_any_rollout_such_a_stage_is_said_to_work_on_imports(stage: str) -> None:
    assert said(stage, "topology") == [
        f"f: stages[0].{stage} works on imported trials alone: no `rollout` stands before it"
    ]


def test_tasks_that_no_rollout_plays_are_named_unless_nothing_is_played_at_all() -> None:
    assert said(ROLLOUT, "reverse_task") == [
        "f: stages[1].reverse_task stands after every rollout, so its tasks are not played: put "
        "it before `rollout`"
    ]
    assert (
        said("reverse_task", ROLLOUT)
        == said(ROLLOUT, "reverse_task", ROLLOUT)
        == said("reverse_task")
        == []
    )
