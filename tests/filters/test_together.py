"""All filters that need no model, in one flow on the storefront: every trajectory is judged, and
what is held out stays out.
"""

import asyncio
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.ledger.views import connect
from synth.schemas.flow import Flow

pytestmark = pytest.mark.slow
FILTERS: list[Any] = [
    *("secrets", "provenance", "signals", "efficiency", "waste"),
    {"duplicates": {"similarity": 0.8}},
    "contamination",
    {"split": {"share": 0.4}},
]


def test_a_run_is_judged_by_all_of_them_and_exports_nothing_that_is_held_out(
    tmp_path: Path,
) -> None:
    stages = [
        {"rollout": {"trials": 2}},
        {"filter": FILTERS},
        {"export": {"kinds": ["sft"], "as": "trl", "include_scripted": True}},
    ]
    flow = Flow.model_validate(
        {
            "name": "filters",
            "seed": 3,
            "env": {"name": "storefront", "tasks": 24, "tasks_per_world": 2},
            "models": {"explorer": {"policy": "expert", "profiles": "mixed"}},
            "stages": stages,
        }
    )
    run, reports = asyncio.run(synthesize(flow, str(tmp_path / "run"), PlainProgress(StringIO())))
    with connect(run.ledger) as connection:
        counts = dict(
            connection.execute("SELECT filter, count(*) FROM decisions GROUP BY filter").fetchall()
        )
        reasons = {
            (name, reason)
            for name, reason in connection.execute(
                "SELECT DISTINCT filter, reason FROM decisions"
            ).fetchall()
        }
        held = {
            one
            for (one,) in connection.execute(
                "SELECT trajectory_id FROM decisions WHERE reason = 'held_out'"
            ).fetchall()
        }
        sides = connection.execute(
            "SELECT count(DISTINCT d.keep) FROM decisions d JOIN trajectories t USING "
            "(trajectory_id) JOIN tasks k USING (task_id) "
            "WHERE d.filter = 'split' GROUP BY json_extract(k.env_config, '$.world_seed')"
        ).fetchall()
    assert counts == dict.fromkeys(
        (
            "secrets",
            "provenance",
            "signals",
            "efficiency",
            "waste",
            "duplicates",
            "contamination",
            "split",
        ),
        48,
    )
    assert ("secrets", "clean") in reasons
    assert {("split", "train"), ("split", "held_out")} <= reasons
    assert set(sides) == {(1,)}, "no world stands on both sides"
    rows = [
        row
        for path in (tmp_path / "run/datasets/sft").rglob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert len(rows) == reports["export"]["datasets"]["sft"]["rows"] > 0
    assert not held & {row["trajectory_id"] for row in rows}
