"""A reflector that never answers: said plainly at the end, exit 1, and asked again by the next
run.
"""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from synth.schemas.flow import Flow
from tests.flow_files import SYNTH
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synthesizers.reflection.desk import reflecting_flow, stutterer

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def run(tmp_path: Path, flow: Flow) -> "subprocess.CompletedProcess[str]":
    path = tmp_path / "flow.yaml"
    path.write_text(yaml.safe_dump(flow.model_dump(mode="json")))
    command = [*SYNTH, "run", str(path), "--run-dir", str(tmp_path / "run")]
    environment = os.environ | {"SYNTH_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    return done


def with_reflector(url: str, reflector_url: str) -> Flow:
    model = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0}
    return reflecting_flow(
        url, models={"explorer": model, "reflector": {**model, "base_url": reflector_url}}
    )


def test_a_few_questions_that_nobody_answered_are_said_and_exit_1_and_the_next_run_asks_them(
    tmp_path: Path,
) -> None:
    with ChatServer() as gone:
        pass
    with ChatServer(stutterer()) as server:
        done = run(tmp_path, with_reflector(server.url, gone.url))
        assert done.returncode == 1
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("role     ")]
        assert line.startswith(
            "role     the role reflector did not answer any of its 2 questions ("
        )
        assert line.endswith("what it was asked for is not done; mend its server and run again")
        assert done.stderr.splitlines()[-1].startswith(
            "synth: the role reflector did not answer any of its 2 questions ("
        )
        assert "reflector_fault:judge" in done.stdout
        again = run(tmp_path, with_reflector(server.url, server.url))
        assert again.returncode == 0
        assert "role     " not in again.stdout


def test_one_answer_among_failures_is_enough_for_the_run_to_have_worked(tmp_path: Path) -> None:
    with (
        ChatServer(stutterer()) as server,
        ChatServer(stutterer(), mishaps=[Mishap("status", status=500)]) as shaky,
    ):
        done = run(tmp_path, with_reflector(server.url, shaky.url))
    assert done.returncode == 0
    assert "role     " not in done.stdout
    assert "1 reflector_fault:judge" in done.stdout
