"""`synth run`: where it writes, what it finds, and that its last line can be typed."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.flow_files import SYNTH, echo_flow

SMALL = echo_flow(
    env={"name": "echo", "tasks": 1, "turns": 1}, stages=[{"rollout": {"trials": 1}}]
).model_dump(mode="json")


def run(
    *arguments: str | Path, cwd: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, "run", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    path = tmp_path / "work" / "my.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    return path


def look_line(stdout: str) -> str:
    (line,) = (line for line in stdout.splitlines() if line.startswith("look "))
    return line.split(maxsplit=1)[1]


@pytest.mark.slow
@pytest.mark.parametrize("run_dir", ["run", "a 'quoted' run", "./-run"])
def test_the_look_line_works_as_it_stands(flow: Path, run_dir: str) -> None:
    without = ":".join(
        part for part in os.environ["PATH"].split(":") if not Path(part, "synth").exists()
    )
    done = run(flow, "--run-dir", run_dir, cwd=flow.parent, PATH=without)
    command = look_line(done.stdout)
    shown = subprocess.run(
        command,
        shell=True,
        cwd=flow.parent,
        env=os.environ | {"PATH": without},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert shown.returncode == 0, f"{command}\n{shown.stderr}"
    assert "success, ended by done" in shown.stdout
    assert Path(shlex.split(command)[-2]).is_absolute() is False


@pytest.mark.slow
def test_the_look_line_says_synth_where_that_is_this_program(flow: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    assert shutil.which("synth", path=scripts) is not None
    done = run(flow, "--run-dir", "run", cwd=flow.parent, PATH=f"{scripts}:{os.environ['PATH']}")
    assert look_line(done.stdout).startswith("synth show run ")


@pytest.mark.slow
def test_a_run_in_memory_gives_no_command_that_could_not_find_it(flow: Path) -> None:
    done = run(flow, "--run-dir", "memory://x/run", cwd=flow.parent)
    assert done.returncode == 0, done.stderr
    assert "ledger   memory://x/run (in memory: it ends with this process)" in done.stdout
    assert "look " not in done.stdout


@pytest.mark.slow
def test_what_is_wrong_in_a_flow_names_its_file_and_place_before_anything_else_is_said(
    flow: Path,
) -> None:
    loud = SMALL | {"stages": [{"export": {"include_scripted": True}}, {"filter": ["solvd"]}]}
    flow.write_text(yaml.safe_dump(loud))
    done = run(flow, cwd=flow.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"synth: {flow}: stages[1].filter: unknown filter 'solvd'; known: "
    )
    assert not (flow.parent / "runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("run_dir", [".", "my.yaml", "my.yaml/run", "theirs"])
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_users_own_files_are_refused_as_a_run_folder(
    flow: Path, run_dir: str, dry: tuple[str, ...]
) -> None:
    (flow.parent / "theirs").mkdir()
    (flow.parent / "theirs" / "architecture.md").write_text("theirs")
    before = sorted(flow.parent.rglob("*"))
    done = run("my.yaml", "--run-dir", run_dir, *dry, cwd=flow.parent)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert sorted(flow.parent.rglob("*")) == before
    assert (flow.parent / "theirs" / "architecture.md").read_text() == "theirs"


@pytest.mark.slow
def test_parts_of_a_users_own_are_found_beside_the_flow_file(flow: Path, tmp_path: Path) -> None:
    (flow.parent / "my_filter_xyz.py").write_text("from synth.filters.solved import solved\n")
    flow.write_text(
        yaml.safe_dump(
            SMALL | {"stages": [{"rollout": {"trials": 1}}, {"filter": ["my_filter_xyz:solved"]}]}
        )
    )
    done = run(flow, "--run-dir", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "filter my_filter_xyz:solved" in done.stdout
