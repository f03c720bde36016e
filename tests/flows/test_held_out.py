"""Attempts at held-out tasks are told apart from the task to the dataset, and stay out of it unless
they are asked for.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import StoredLedger
from synth.ledger.sql import query
from tests.flow_files import echo_flow, run_flow

HELD_OUT = {"name": "storefront", "tasks": 1, "variant": "held_out"}
EXPORT = {"kinds": ["sft"], "include_scripted": True}


def exported(run_dir: str, **export: Any) -> Any:
    flow = echo_flow(env=HELD_OUT, stages=[{"rollout": {"trials": 2}}, {"export": EXPORT | export}])
    _, reports, _ = run_flow(flow, run_dir)
    return reports["export"]["datasets"]["sft"]


@pytest.mark.slow
def test_they_stay_out_of_a_dataset_unless_asked_for(tmp_path: Path) -> None:
    without = exported(str(tmp_path / "run"))
    assert query(
        StoredLedger(str(tmp_path / "run")), "SELECT DISTINCT split FROM trajectories"
    ).fetchall() == [("held_out",)]
    assert (without["rows"], without["left_out"]) == (0, {"held_out": 2})
    assert "held_out; allow_held_out: true takes them in" in without["empty"]
    asked = exported(str(tmp_path / "run"), allow_held_out=True)
    assert (asked["rows"], asked["left_out"]) == (2, {})
    assert any(
        "2 of 2 rows are attempts at held-out tasks (allow_held_out: true)" in note
        for note in asked["notes"]
    )
