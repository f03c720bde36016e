"""The command line as a user types it: results on stdout, one line for what went wrong, exit codes
that scripts can trust.
"""

from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from tests.flow_files import echo_flow
from tests.synth.cli.command_runs import refused, synth, write

pytestmark = pytest.mark.slow


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
