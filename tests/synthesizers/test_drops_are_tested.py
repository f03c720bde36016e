"""Drops of the success potential are proposals: critical_step tests them where `topology` ran
before it, and continuations decide.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import rows
from tests.synthesizers.fork_world import NAME, POLICY, dice

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    dice.opened, dice.thrown, dice.dies_at = 0, [], None


def flow(*stages: Any) -> Flow:
    content = {
        "name": "fork", "seed": 3, "env": {"name": NAME, "tasks": 3, "left": 30, "right": 100},
        "models": {"explorer": {"policy": POLICY}}, "stages": [{"rollout": {"trials": 8}}, *stages],
    }  # fmt: skip
    return Flow.model_validate(content)


def drops(url: str) -> set[tuple[str, int]]:
    with connect(StoredLedger(url)) as connection:
        sql = "SELECT subject_id, turn FROM scores JOIN trajectories ON subject_id = trajectory_id"
        return set(
            connection.execute(
                f"{sql} WHERE metric = 'decisive_drop' AND outcome = 'failure'"
            ).fetchall()
        )


def proposed_by_drop(url: str) -> set[tuple[str, int]]:
    return {
        (identity, turn)
        for identity, turn, _, detail in rows(url)
        if detail.get("proposed_by") == "drop"
    }


def test_every_drop_of_a_failed_trial_is_tested_by_continuations(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(
        flow(
            {"topology": {"level": "state"}},
            {"critical_step": {"proposals": {"per_trajectory": 1}}},
        ),
        url,
    )
    assert proposed_by_drop(url) == drops(url) != set()
    opened = dice.opened
    run_flow(
        flow(
            {"topology": {"level": "state"}},
            {"critical_step": {"proposals": {"per_trajectory": 1}}},
        ),
        url,
    )
    assert dice.opened == opened, "what is tested stays tested"


def test_a_topology_after_it_changes_nothing_of_its_tests(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    later = flow(
        {"critical_step": {"proposals": {"per_trajectory": 1}}},
        {"topology": {"level": "state", "learn": 0}},
    )
    run_flow(later, url)
    assert proposed_by_drop(url) == set()
    opened = dice.opened
    run_flow(later, url)
    assert dice.opened == opened
