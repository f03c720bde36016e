"""Without the extra every command says in one line what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INSTALL = "pip install -c constraints.txt -e '.[textworld]'"
WITHOUT = "import sys; sys.modules['textworld'] = None; from synth.cli.main import main; main()"


def said(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), [("envs", "textworld"), ("doctor", "NAME")])
def test_the_lists_name_the_command_that_installs_it(command: str, name: str) -> None:
    answer = said(command)
    (line,) = [line for line in answer.stdout.splitlines() if "textworld" in line]
    assert INSTALL.replace("textworld", name) in line
    assert answer.returncode == 0


@pytest.mark.slow
def test_a_flow_that_names_it_ends_with_that_line_and_2(tmp_path: Path) -> None:
    answer = said("run", "configs/textworld.yaml", "--run-dir", str(tmp_path / "run"))
    assert answer.returncode == 2
    assert INSTALL in answer.stderr.splitlines()[-1]
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / "run").exists()
