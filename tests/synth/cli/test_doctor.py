"""`synth doctor`: a line per thing that must work, and a verdict."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from synth.api.machine import EXTRAS
from tests.flow_files import SYNTH

ROOT = Path(__file__).resolve().parents[3]


def doctor(folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, "doctor"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lines(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    return {line.split()[0]: line[11:] for line in done.stdout.splitlines()}


@pytest.mark.slow
def test_every_thing_has_one_line_and_nothing_is_left_behind(tmp_path: Path) -> None:
    done = doctor(tmp_path, SYNTH_STATE_DIR=str(tmp_path / "state"))
    assert done.returncode == 0, done.stdout
    found = lines(done)
    assert list(found) == [
        "machine",
        "packages",
        "prefect",
        "runs",
        "journals",
        "worlds",
        "vllm",
        "extras",
        "keys",
        "verdict",
    ]
    assert "fastapi 0.154.0" in found["packages"]
    assert found["journals"].startswith(f"{tmp_path / 'state'}, ")
    assert found["verdict"].startswith("all commands work; try: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_journals_that_cannot_be_written_are_told_with_the_way_out(tmp_path: Path) -> None:
    done = doctor(tmp_path, SYNTH_STATE_DIR="/proc/nowhere")
    assert done.returncode == 1
    assert lines(done)["journals"].startswith("BROKEN: /proc/nowhere cannot be written: ")
    assert lines(done)["journals"].endswith("set SYNTH_STATE_DIR to a folder on a local disk")
    assert lines(done)["verdict"] == "mend journals first"


def test_every_extra_of_the_project_is_looked_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(EXTRAS) == set(extras) - {"test"}
