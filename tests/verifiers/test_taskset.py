"""Rollouts of verifiers over an exported data set: its runner, tool servers and scoring; its
rewards are the ledger's outcomes.
"""

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from synth.envs.echo import WORLD as ECHO
from synth.envs.storefront import WORLD as STOREFRONT
from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.flows.environments import bindings_of
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from tests.synth.pairs.planted import planted
from tests.synth.recording import recorded

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def of_each_outcome() -> list[tuple[Task, Trajectory]]:
    """Two solved and two failed trials of the storefront's expert, each of a task of its own, one
    call a turn.
    """
    found: dict[Outcome, list[tuple[Task, Trajectory]]] = {Outcome.SUCCESS: [], Outcome.FAILURE: []}
    for trial, task in enumerate(bindings_of({}).make_tasks("storefront", {}, 5, 30)):
        trajectory = recorded(STOREFRONT, task.env_config, task, trial=trial)
        if all(len(turn.tool_calls) == 1 for turn in trajectory.turns):
            found[trajectory.outcome].append((task, trajectory))
    return found[Outcome.SUCCESS][:2] + found[Outcome.FAILURE][:2]


def breaking() -> tuple[Task, Trajectory]:
    """A task in whose world the first step breaks."""
    (plain,) = bindings_of({}).make_tasks("echo", {"turns": 1}, 5, 1)
    (task,) = bindings_of({}).make_tasks("echo", {"turns": 1, "fail_at_turn": 0}, 5, 1)
    played = recorded(ECHO, {}, plain)
    return task, msgspec.structs.replace(
        played, task_id=task.task_id, trajectory_id="breaks", slot_id="breaks"
    )


def test_rewards_are_the_outcomes_tools_are_the_schemas_and_a_fault_is_no_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = os.environ.get("SYNTH_VERIFIERS_PYTHON")
    if python is None:
        pytest.skip(
            "needs verifiers in an environment of its own: `make test-verifiers`, or "
            "SYNTH_VERIFIERS_PYTHON"
        )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    outcomes, (broken, trial) = of_each_outcome(), breaking()
    (idle,) = bindings_of({}).make_tasks("echo", {"turns": 2}, 6, 1)
    idled = recorded(ECHO, {}, idle)
    played = [
        (task, msgspec.structs.replace(t, slot_id=t.trajectory_id))
        for task, t in [*outcomes, (broken, trial), (idle, idled)]
    ]
    ledger = planted(tmp_path, [t for _, t in played], [], tasks=[task for task, _ in played])
    export("rl", ledger, DatasetFolder(tmp_path / "rl"), RowSettings())
    calls = {
        t.task_id: [(call.name, call.parsed()) for turn in t.turns for call in turn.tool_calls]
        for _, t in played
    }
    (tmp_path / "calls.json").write_text(json.dumps(calls | {idle.task_id: []}))

    given = {
        "PYTHONPATH": str(ROOT),
        "SCRIPTED_CALLS": str(tmp_path / "calls.json"),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
    }
    command = [python, str(ROOT / "tests/verifiers/play.py"), str(tmp_path / "rl")]
    done = subprocess.run(
        command, capture_output=True, text=True, env=given, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rewards = json.loads(done.stdout.splitlines()[-1])

    assert [rewards[task.task_id] for task, _ in outcomes] == [1.0, 1.0, 0.0, 0.0]
    assert rewards[idle.task_id] == 0.0
    assert "planned: echo fails at turn 0" in str(rewards[broken.task_id])
    for _, trajectory in outcomes:
        shown = json.loads((tmp_path / f"calls.{trajectory.task_id}.shown").read_text())
        assert (shown["system"], shown["prompt"]) == (
            trajectory.system_prompt,
            trajectory.opening[0].content,
        )
        functions = [tool["function"] for tool in trajectory.tools]
        assert [(t["name"], t["description"], t["input_schema"]) for t in shown["tools"]] == [
            (f["name"], f["description"], f["parameters"]) for f in functions
        ]
        answers = [
            next(o.content for o in turn.observations if o.source == "tool")
            for turn in trajectory.turns
        ]
        assert all(
            said.startswith(answer) for said, answer in zip(shown["said"], answers, strict=True)
        )
