"""`synth deploy` and `synth status` where no server is needed."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from synth.cli.deploy import deploy
from synth.cli.status import status
from synth.schemas.errors import ConfigError
from tests.flow_files import echo_flow, run_flow


@pytest.fixture(autouse=True)
def _no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def written(tmp_path: Path) -> str:
    path = tmp_path / "flow.yaml"
    path.write_text(
        yaml.safe_dump(
            {**echo_flow().model_dump(mode="json"), "stages": [{"rollout": {"trials": 2}}]}
        )
    )
    return str(path)


def invoked(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)  # type: ignore[arg-type]


def test_a_dry_run_says_what_would_be_registered(tmp_path: Path) -> None:
    options = (
        "--interval",
        "3600",
        "--workers",
        "8",
        "--set",
        "name=mine",
        "--pause",
        "--dry-run",
    )
    done = invoked(deploy, written(tmp_path), *options)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "synth/mine: would run every 3600 s, paused, by workers of the process pool synth, "
        "8 flow runs at a time",
        f"into      {tmp_path}/runs/{{name}}-{{date}}",
        "stages    tasks, rollout",
        "notify    nobody (see --notify)",
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--set", "stages.rollout.trails=3"), "stages[0].rollout.trails"),
        (("--run-dir", "runs/{day}"), "{day} is not known"),
        (("--interval", "0"), "--interval 0"),
        (("--notify", "mail"), "--notify"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_registered(
    tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    done = invoked(deploy, written(tmp_path), *options, "--dry-run")
    assert isinstance(done.exception, ConfigError)
    assert problem in str(done.exception)


def test_status_shows_the_runs_of_this_machine_without_a_server(tmp_path: Path) -> None:
    assert "no runs that this machine knows" in invoked(status).output
    run_flow(echo_flow(stages=[{"rollout": {"trials": 2}}]), str(tmp_path / "run"))
    said = invoked(status).output
    assert f"completed    {tmp_path}/run  all of its 2 stages done" in said
    found = json.loads(invoked(status, "--json", "--run", str(tmp_path / "run")).output)
    (run,) = found["runs"]
    assert (run["state"], run["done"], run["stage"], found["schedules"]) == (
        "completed",
        8,
        "rollout",
        [],
    )


def test_status_of_a_folder_without_a_run_is_one_line(tmp_path: Path) -> None:
    done = invoked(status, "--run", str(tmp_path / "nothing"))
    assert isinstance(done.exception, ConfigError)
    assert "nobody has worked on a run there" in str(done.exception)
