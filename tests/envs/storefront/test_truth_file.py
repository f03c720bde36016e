"""True labels stand in files of their own beside a run, and in no view of its ledger."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.storefront_truth import shares, tables, write
from synth.ledger.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.flow import Flow
from tests.flow_files import run_flow


@pytest.mark.slow
def test_a_run_is_labelled_beside_its_ledger_which_does_not_change(tmp_path: Path) -> None:
    content = {
        "name": "truth",
        "seed": 3,
        "env": {"name": "storefront", "tasks": 4},
        "models": {"explorer": {"policy": "expert", "profiles": "mixed"}},
        "stages": [{"rollout": {"trials": 2}}],
    }
    url = str(tmp_path / "run")
    run_flow(Flow.model_validate(content), url)
    before = sorted(str(path) for path in Path(url).rglob("*"))
    labels = write(url)
    assert len(labels) == 8
    written = {path.stem: pq.read_table(path) for path in (Path(url) / "truth").iterdir()}
    assert written.keys() == {"episodes", "writes", "denials", "reads"}
    assert sorted(written["episodes"]["trajectory_id"].to_pylist()) == sorted(
        t.trajectory_id for t in StoredLedger(url).trajectories()
    )
    assert written["writes"].num_rows == sum(len(truth.writes) for truth in labels)
    assert 0 < shares(labels)["reads: novel"] <= 1
    assert [path for path in before if not Path(path).exists()] == []
    views = query(
        StoredLedger(url), "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    assert not [name for (name,) in views if "truth" in name or "writes" in name]
    passed = {
        t.trajectory_id: t.check_result is not None and t.check_result.passed
        for t in StoredLedger(url).trajectories()
    }
    assert {truth.trajectory_id: truth.passed for truth in labels} == passed


def test_no_trajectories_give_empty_tables() -> None:
    assert {name: table.num_rows for name, table in tables([]).items()} == {
        "episodes": 0,
        "writes": 0,
        "denials": 0,
        "reads": 0,
    }
