"""A run imported by the command line, in another run: its trials are retried, their steps tested,
mistakes put into its successes.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.ledger.ledger import StoredLedger
from synth.ledger.sql import query
from tests.flow_files import SYNTH

pytestmark = pytest.mark.slow
EXPLORER = {"explorer": {"policy": "expert", "profiles": "mixed"}}
STAGES: list[Any] = [
    {"reflect_retry": {"reflector": "rules_blind"}},
    "critical_step",
    {"failure_injection": {"per_task": 2, "repairs": 1}},
    "topology",
    {"filter": ["solved", "reexecuted"]},
    "select",
]


def synth(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*SYNTH, *arguments],
        cwd=folder,
        env=os.environ
        | {
            "SYNTH_STATE_DIR": str(folder / "state"),
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def flow(folder: Path, name: str, **content: Any) -> str:
    (folder / f"{name}.yaml").write_text(
        yaml.safe_dump({"name": name, "seed": 5, "models": EXPLORER, **content})
    )
    return f"{name}.yaml"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The run that was imported into, and what its flow said."""
    folder = tmp_path_factory.mktemp("imported")
    theirs = flow(
        folder,
        "theirs",
        env={"name": "storefront", "tasks": 12},
        stages=[{"rollout": {"trials": 4}}],
    )
    synth(folder, "run", theirs, "--run-dir", "theirs")
    synth(folder, "import", "theirs", "--format", "synth", "--into", "ours")
    ours = flow(folder, "ours", env={"name": "storefront", "tasks": 0}, stages=STAGES)
    return folder / "ours", synth(folder, "run", ours, "--run-dir", "ours")


def column(run: Path, sql: str) -> list[Any]:
    return [found for (found,) in query(StoredLedger(str(run)), sql).fetchall()]


def test_failed_trials_are_retried_from_their_turns(imported: tuple[Path, str]) -> None:
    run, said = imported
    failed = set(
        column(
            run,
            "SELECT trajectory_id FROM trajectories WHERE synthesizer = 'import' AND outcome <> "
            "'success'",
        )
    )
    retries = [t for t in StoredLedger(str(run)).trajectories() if t.synthesizer == "reflect_retry"]
    assert {t.parent_id for t in retries} == failed != set()
    assert any(t.outcome == "success" for t in retries)
    assert not any(t.fault for t in retries)
    assert "works on imported trials alone" in said


def test_their_steps_get_labels_from_continuations(imported: tuple[Path, str]) -> None:
    sql = """SELECT DISTINCT t.synthesizer
        FROM scores s JOIN trajectories t ON s.subject_id = t.trajectory_id
        WHERE s.metric = 'critical_step' AND s.detail->>'$.status' = 'confirmed'"""
    assert column(imported[0], sql) == ["import"]


def test_mistakes_put_into_their_successes_are_confirmed(imported: tuple[Path, str]) -> None:
    sql = """SELECT DISTINCT twin.synthesizer
        FROM scores s JOIN trajectories twin ON s.detail->>'$.clean_twin_id' = twin.trajectory_id
        WHERE s.metric = 'injection' AND s.detail->>'$.status' = 'confirmed'"""
    assert column(imported[0], sql) == ["import"]


def test_imports_are_executed_again_where_their_world_is_here(imported: tuple[Path, str]) -> None:
    sql = """SELECT DISTINCT reason FROM decisions JOIN trajectories USING (trajectory_id)
        WHERE filter = 'reexecuted' AND synthesizer = 'import'"""
    assert column(imported[0], sql) == ["same"]
