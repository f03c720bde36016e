"""A process that has run a flow under Prefect ends without a word: a worker's log holds nothing but
what the run said.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROCESS = """
import asyncio, sys
from synth.flows.deployment_run import run_under_prefect
from synth.flows.synthesize import synthesize
from synth.engine.progress import progress_for
from tests.flow_files import echo_flow
asyncio.run(run_under_prefect(synthesize, echo_flow(), sys.argv[1], progress_for(quiet=True)))
"""


@pytest.mark.nightly
def test_duckdb_lists_nothing_as_leaked_when_the_interpreter_ends(tmp_path: Path) -> None:
    home = os.environ | {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "SYNTH_STATE_DIR": str(tmp_path / "state"),
    }
    command, root = (
        [sys.executable, "-c", PROCESS, str(tmp_path / "run")],
        Path(__file__).resolve().parents[2],
    )
    done = subprocess.run(command, env=home, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "datasets").is_dir()
    assert "leaked" not in done.stderr
