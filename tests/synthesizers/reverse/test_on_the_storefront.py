"""Reverse task synthesis on the storefront: refusals and tasks of several operations, solved anew,
held out where its settings are.
"""

from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from synth.schemas.flow import Flow
from synth.text.provenance import Status, provenance
from tests.flow_files import run_flow
from tests.synthesizers.reverse.deriving_on_shelves import tasks_of

pytestmark = pytest.mark.slow


def test_derived_tasks_are_solved_anew_by_an_expert_that_makes_nothing_up(tmp_path: Path) -> None:
    flow = Flow.model_validate(
        {
            "name": "shop",
            "seed": 11,
            "env": {"name": "storefront", "tasks": 0, "variant": "held_out"},
            "models": {"explorer": {"policy": "expert"}},
            "stages": [{"reverse_task": {"explorations": 5}}, {"rollout": {"trials": 1}}],
        }
    )
    _, reports, _ = run_flow(flow, str(tmp_path / "run"))
    tasks = tasks_of(tmp_path / "run")
    report = reports["reverse_task"]
    assert len(tasks) == report["verified"] >= 5
    assert 10 * report["details"]["several_operations"] >= 4 * len(tasks)
    assert (
        report["details"]["mutants"]["killed"]
        == report["details"]["mutants"]["made"]
        > 10 * len(tasks)
    )
    assert {task.split for task in tasks.values()} == {"held_out"}, (
        "what descends from held-out settings is held out"
    )
    assert len({task.env_config["world_seed"] for task in tasks.values()}) > 1, (
        "walks take place in worlds of their own"
    )
    trials = list(StoredLedger(str(tmp_path / "run")).trajectories())
    assert {trial.task_id for trial in trials} == set(tasks)
    assert all(trial.outcome == "success" and trial.held_out for trial in trials)
    assert not [
        found
        for trial in trials
        for found in provenance(trial).findings
        if found.status is Status.UNJUSTIFIED
    ]
