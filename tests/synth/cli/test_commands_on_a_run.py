"""Commands on a run that is there: ask, show, compare, replay, judge again, export."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from tests.flow_files import echo_flow, run_flow
from tests.synth.cli.command_runs import ROOT, refused, synth, write

pytestmark = pytest.mark.slow


def test_sql_gives_json_that_a_script_can_read(run_dir: Path) -> None:
    sql = (
        "SELECT 'NaN'::DOUBLE AS a, TIMESTAMP '2026-01-02 03:04:05' AS b, [1, NULL] AS c, "
        "count(*) AS n FROM trajectories"
    )
    assert json.loads(synth("sql", run_dir, sql, "--json").stdout) == [
        {"a": None, "b": "2026-01-02T03:04:05", "c": [1, None], "n": 8}
    ]
    assert (
        synth("sql", run_dir, "SELECT outcome, count(*) AS n FROM trajectories GROUP BY 1").stdout
        == "outcome\tn\nsuccess\t8\n"
    )


def test_a_trajectory_is_shown_and_compared(run_dir: Path) -> None:
    first, second = StoredLedger(str(run_dir)).state.current_valid()[:2]
    shown = synth("show", run_dir, first[:10]).stdout
    assert "success, ended by done, reward 1" in shown
    assert "calls   echo" in shown
    record = json.loads(synth("show", run_dir, first, "--json").stdout)
    assert (record["trajectory_id"], record["outcome"]) == (first, "success")
    assert "the same to the last observation" in synth("diff", run_dir, first, first).stdout
    assert synth("diff", run_dir, first, second).returncode == 0


def test_replay_compares_all_and_fails_where_the_world_changed(run_dir: Path) -> None:
    done = synth("replay", run_dir, "--quiet")
    assert (done.returncode, done.stdout) == (0, "8 the same, 0 different\n")
    assert (
        synth(
            "replay", run_dir, StoredLedger(str(run_dir)).state.current_valid()[0], "--quiet"
        ).stdout
        == "1 the same, 0 different\n"
    )


def test_replay_tells_a_world_that_drifts(tmp_path: Path) -> None:
    flow = echo_flow(
        env={"name": "echo", "tasks": 1, "turns": 3, "drift_at_turn": 1},
        stages=[{"rollout": {"trials": 1}}],
    )
    run_flow(flow, str(tmp_path / "run"))
    done = synth("replay", tmp_path / "run", "--quiet")
    assert done.returncode == 1
    assert " turn 1: observations: recorded " in done.stdout
    assert done.stdout.endswith("0 the same, 1 different\n")


def test_recheck_gives_the_same_verdicts_and_keeps_the_old_ones(run_dir: Path) -> None:
    done = synth("recheck", run_dir, "--quiet")
    assert done.stdout == "8 verdicts stay, 0 change\n"
    rows = json.loads(
        synth(
            "sql",
            run_dir,
            "SELECT count(*) AS n, min(value) AS v FROM scores WHERE metric LIKE 'recheck:%'",
            "--json",
        ).stdout
    )
    assert rows == [{"n": 8, "v": 1.0}]


def test_export_refuses_a_folder_that_is_not_its_own(run_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    assert str(out) in refused(synth("export", run_dir, "--include-scripted", "--out", out))
    assert (out / "thesis.txt").read_text() == "years of work"
    done = synth("export", run_dir, "--include-scripted", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "WARNING: 8 of 8 rows were written by scripts" in done.stdout


def test_envs_say_what_is_here() -> None:
    done = synth("envs")
    assert done.returncode == 0, done.stderr
    assert {"echo", "mcp", "storefront"} <= {
        line.split()[0] for line in done.stdout.splitlines() if line.strip()
    }


def test_folders_of_the_users_own_hide_nothing_of_synths(tmp_path: Path) -> None:
    """Folders named as those of the checkout, in the working directory and on the path; one of them
    holds a filter of the user's.
    """
    for name in ("schemas", "envs", "filters", "synthesizers", "flows", "configs", "data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "filters" / "mine.py").write_text("from synth.filters.solved import solved\n")
    stages = [{"rollout": {"trials": 1}}, {"filter": ["filters.mine:solved"]}]
    write(
        tmp_path / "mine.yaml", echo_flow(stages=stages).model_dump(mode="json", exclude_none=True)
    )
    for arguments in (["envs"], ["run", "mine.yaml"], ["run", "empty"]):
        done = subprocess.run(
            [sys.executable, "-c", "from synth.cli.main import main; main()", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_error(run_dir: Path) -> None:
    command = " ".join(
        [
            sys.executable,
            "-c",
            "'from synth.cli.main import main; main()'",
            "sql",
            str(run_dir),
            "'SELECT * FROM turns'",
            "| head -1",
        ]
    )
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("trajectory_id\t")
