"""The command line as a user types it: results on stdout, one line for what went wrong, exit codes
that scripts can trust.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.ledger import StoredLedger
from tests.flow_files import SYNTH, echo_flow, run_flow

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def synth(
    *arguments: str | Path, cwd: Path = ROOT, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refused(done: "subprocess.CompletedProcess[str]", code: int = 2) -> str:
    """The one line of a refusal."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("synth: ")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    run_flow(echo_flow(), str(tmp_path / "run"))
    return tmp_path / "run"


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_help_names_every_command_with_an_example() -> None:
    done = synth("--help")
    assert done.returncode == 0
    assert "Example:  synth run configs/quickstart.yaml" in done.stdout
    for command in (
        "run",
        "import",
        "sql",
        "show",
        "diff",
        "replay",
        "recheck",
        "audit",
        "export",
        "envs",
        "doctor",
    ):
        assert f"\n  {command} " in done.stdout
        page = synth(command, "--help").stdout
        assert f"Example:  synth {command}" in page, command


def test_run_prints_funnel_and_paths_on_stdout_and_progress_on_stderr(tmp_path: Path) -> None:
    flow = write(tmp_path / "flow.yaml", echo_flow().model_dump(mode="json"))
    done = synth("run", flow, "--run-dir", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "Funnel" in done.stdout
    assert str(tmp_path / "run/datasets/sft") in done.stdout
    assert (
        done.stderr.splitlines()[0]
        == "echo: include_scripted is set: rows written by scripts, not by a model, go into the "
        "datasets"
    )
    assert any(
        line.startswith("rollout: 8 episodes in ") and line.endswith("100 % success")
        for line in done.stderr.splitlines()
    )
    assert synth("run", flow, "--run-dir", tmp_path / "run", "--quiet").stderr == ""


def test_settings_are_overridden_from_the_command_line(tmp_path: Path) -> None:
    flow = write(
        tmp_path / "flow.yaml",
        echo_flow().model_dump(mode="json") | {"stages": [{"rollout": {"trials": 2}}]},
    )
    done = synth(
        "run",
        flow,
        "--run-dir",
        tmp_path / "run",
        "--set",
        "env.tasks=3",
        "--set",
        "stages.rollout.trials=4",
    )
    assert done.returncode == 0, done.stderr
    assert len(StoredLedger(str(tmp_path / "run")).state.current_valid()) == 12


def test_a_dry_run_checks_and_makes_nothing(tmp_path: Path) -> None:
    flow = write(tmp_path / "flow.yaml", echo_flow().model_dump(mode="json"))
    done = synth("run", flow, "--run-dir", tmp_path / "run", "--dry-run")
    assert done.returncode == 0
    assert "tasks, rollout, filter, export" in done.stdout
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: x\nstages: [rollout\n", ":3:1: not valid YAML: "),
        ("name: x\nname: y\n", ":2:1: not valid YAML: 'name' is given twice"),
        ("- a\n- b\n", "a flow is a mapping with `name` and `stages`, this is a list"),
        ("", "this is empty"),
        (
            "name: x\nstges: []\n",
            "stges is not a setting; allowed: env, lease_s, max_cost_usd, max_hours, "
            "max_live_worlds, ",
        ),
        ("stages: []\n", "name is missing"),
        ("name: a/b\n", "name: a folder is called after it"),
        (
            "name: x\nenv: {name: nowhere}\n",
            "unknown world 'nowhere'; known: echo, mcp, repo, sql, sql_file, ",
        ),
        ("name: x\nenv: {name: echo, tasks: many}\n", "env.tasks: must be a whole number"),
        (
            "name: x\nenv: {name: 'no_such_package:WORLD'}\n",
            "cannot import no_such_package: it is not installed, nor in ",
        ),
        (
            "name: x\nenv: {name: echo}\nmodels: {explorer: {model: m}}\nstages: [rollout]\n",
            "OPENAI_API_KEY is not set",
        ),
        ("[" * 5000, "not valid YAML"),
    ],
)
def test_a_flow_that_is_wrong_is_one_line_and_exit_2(
    tmp_path: Path, content: str, message: str
) -> None:
    line = refused(
        synth(
            "run",
            write(tmp_path / "flow.yaml", content),
            "--run-dir",
            tmp_path / "run",
            OPENAI_API_KEY="",
        )
    )
    assert message in line
    assert not (tmp_path / "run").exists()


def test_files_that_are_missing_or_no_text_are_one_line_and_exit_2(tmp_path: Path) -> None:
    assert "no such file; start from one in configs/" in refused(
        synth("run", tmp_path / "none.yaml")
    )
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8 text" in refused(synth("run", tmp_path / "binary.yaml"))
    assert "holds no run" in refused(synth("sql", tmp_path, "SELECT 1"))
    assert "does not exist" in refused(
        synth("import", tmp_path / "none", "--into", tmp_path / "run")
    )
    assert not (tmp_path / "run").exists()


def test_wrong_usage_is_one_line_and_exit_2(run_dir: Path, tmp_path: Path) -> None:
    assert "No such command 'rnu'" in refused(synth("rnu"))
    assert (
        "writes to --out DIR, or proves without writing with --check: give one of them"
        in refused(synth("export", run_dir))
    )
    assert "names no trajectory" in refused(synth("show", run_dir, "zz"))
    assert "tables: tasks, trajectories" in refused(
        synth("sql", run_dir, "SELECT * FROM trajectoris")
    )
    assert "not a kind of dataset; known: attribution, dpo" in refused(
        synth("export", run_dir, "--kind", "sftt", "--out", tmp_path / "o")
    )
    assert "write it as a.b=value" in refused(
        synth("run", write(tmp_path / "f.yaml", "name: x"), "--set", "seed")
    )


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
