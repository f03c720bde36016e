"""A whole flow over the small pool, and the audit of it."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from synth import audit, open_ledger, run
from synth.envs.world import EnvEntry

FLOW = """
name: repo
seed: 7
env: {{name: repo, pool: {pool}, tasks: {tasks}}}
models:
  explorer: {{policy: expert, profiles: {profile}}}
stages:
{stages}
  - filter: [solved, reexecuted]
  - export: {{kinds: [sft], include_scripted: true}}
"""


def rows(folder: Path) -> list[dict[str, object]]:
    """What a dataset holds."""
    found = [pl.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))]
    return [row for frame in found for row in frame.to_dicts()]


def played(pool: Path, folder: Path, profile: str, tasks: int, *stages: str) -> Path:
    """A run of a flow."""
    flow = folder / "flow.yaml"
    told = "\n".join(f"  - {stage}" for stage in stages)
    flow.write_text(
        FLOW.format(pool=pool, tasks=tasks, profile=profile, stages=told), encoding="utf-8"
    )
    run(flow, run_dir=folder / "run")

    return folder / "run"


@pytest.mark.slow
def test_every_row_was_executed_again_to_the_byte_and_edits_the_source(
    pool_folder: Path, tmp_path: Path
) -> None:
    made = played(pool_folder, tmp_path, "wrong_file_first", 3, "rollout: {trials: 2}")
    ledger = open_ledger(made)
    judged = ledger.sql(
        "SELECT keep, count(*) AS n FROM decisions WHERE filter = 'reexecuted' GROUP BY keep"
    ).pl()
    assert judged.rows() == [(True, 6)]
    written = rows(made / "datasets" / "sft")
    assert written
    for row in written:
        messages = list(map(json.loads, row["messages"]))  # type: ignore[call-overload]
        calls = [call for one in messages for call in one.get("tool_calls") or ()]
        assert "replace" in {call["function"]["name"] for call in calls}
        assert str(pool_folder) not in json.dumps(messages)


@pytest.mark.nightly
def test_explorations_give_tasks_that_pass_their_tests(pool_folder: Path, tmp_path: Path) -> None:
    stage = "reverse_task: {explorations: 4, steps: 8, windows: 6, per_exploration: 1}"
    ledger = open_ledger(played(pool_folder, tmp_path, "mixed", 2, stage, "rollout: {trials: 1}"))
    goals = ledger.sql("SELECT goal FROM tasks WHERE origin = 'reverse'").pl()["goal"].to_list()
    assert goals
    assert all("does not hold" in goal or "should raise" in goal for goal in goals)


@pytest.mark.nightly
def test_the_world_is_sound(repo_world: Callable[..., EnvEntry]) -> None:
    report = audit(repo_world(), tasks=2, call_ms=20_000, limit_s=900, quiet=True)
    assert not report.failed
