"""What a user sees of a run that cannot work: one line, exit 1 or 2, and never a traceback."""

import json
import os
import re
import subprocess
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.echo_fault import planned_fault
from tests.flow_files import SYNTH, echo_flow, model_flow
from tests.synth.models.chat_server import ChatServer, Mishap

ROOT = Path(__file__).resolve().parents[3]


def run(
    tmp_path: Path, content: dict[str, Any], **environment: str
) -> "subprocess.CompletedProcess[str]":
    flow = tmp_path / "flow.yaml"
    flow.write_text(yaml.safe_dump(content))
    command = [*SYNTH, "run", str(flow), "--run-dir", str(tmp_path / "run")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def last_line(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_run_in_which_every_attempt_is_a_fault_says_which_and_exits_1(tmp_path: Path) -> None:
    flow = echo_flow(
        env={"name": "echo", "tasks": 2, "turns": 3, "fail_at_turn": 1},
        stages=[{"rollout": {"trials": 1}}],
    )
    for _ in range(2):
        done = run(tmp_path, flow.model_dump(mode="json"))
        assert done.returncode == 1
        assert f"fault    4 x {planned_fault(1)}" in done.stdout
        assert "after a fix raise `version` in the EnvSpec of echo" in done.stdout
        assert "\nlook     " in done.stdout
        assert last_line(done).startswith(
            "synth: none of the 4 attempts is valid, all ended in faults; the commonest: step: "
            "RuntimeError"
        )


class Steering(BaseHTTPRequestHandler):
    """Refuses every request with words that would steer a terminal."""

    WORDS = "\x1b[2J\x1b]0;pwn\x07[bold]hi[/nothing] \u202e rtl\nstopped  fake line"

    def _refuse(self) -> None:
        body = json.dumps({"error": {"message": self.WORDS}}).encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _refuse  # noqa: N815

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.mark.slow
def test_words_of_a_server_that_would_steer_a_terminal_are_spelled_out_on_it_and_kept_in_the_ledger(
    tmp_path: Path,
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Steering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = run(
            tmp_path,
            model_flow(f"http://127.0.0.1:{server.server_port}/v1").model_dump(mode="json"),
        )
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert said.count("\\x1b[2J\\x1b]0;pwn\\x07[bold]hi[/nothing] \\u202e rtl") >= 2, (
        "in the line of faults and in the last line"
    )
    assert not set(said) & {"\x1b", "\x07", "\u202e"}
    assert not [line for line in said.splitlines() if line.startswith("stopped  fake")]
    question = 'SELECT DISTINCT fault_detail, fault_detail AS "[/x]\u202e" FROM trajectories'
    command = [*SYNTH, "sql", str(tmp_path / "run"), question]
    table, terminal = (on(command, cwd=ROOT) for on in (on_a_pipe, on_a_terminal))
    for shown in (table, re.sub(r"\x1b\[[\d;]*m", "", terminal)):
        assert "pwn" in shown
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
    (row,) = json.loads(on_a_pipe([*command, "--json"], cwd=ROOT))
    assert "\x1b[2J\x1b]0;pwn\x07" in row["fault_detail"]


def on_a_pipe(command: list[str], cwd: Path) -> str:
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True
    ).stdout


def on_a_terminal(command: list[str], cwd: Path) -> str:
    ours, theirs = os.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    received = b""
    with suppress(OSError):  # how the system says that the other side has closed
        while part := os.read(ours, 1 << 16):
            received += part
    os.close(ours)
    assert process.wait(timeout=60) == 0, received
    return received.decode()


@pytest.mark.slow
def test_a_server_that_refuses_the_key_is_one_line_that_says_where_to_look_and_not_the_key(
    tmp_path: Path,
) -> None:
    with ChatServer(mishaps=[Mishap("unauthorized")] * 1000) as server:
        flow = model_flow(
            server.url,
            model={"api_key_env": "MY_TEST_KEY"},
            env={"name": "echo", "tasks": 50, "turns": 3},
        )
        done = run(tmp_path, flow.model_dump(mode="json"), MY_TEST_KEY="sk-secret-0123456789")
    assert done.returncode == 1
    assert last_line(done).startswith(
        f"synth: model test at {server.url}: HTTP 401: Incorrect API key provided: [key]; look at "
        "the key in MY_TEST_KEY; "
    )
    assert "sk-secret" not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"base_url": "http://127.0.0.1:99999/v1"}, "base_url: Port out of range 0-65535"),
        (
            {"api_key_env": "sk_live_51aBcDeFgHiJkLmNoP"},
            "api_key_env: this is the name of an environment variable",
        ),
        ({"extra_body": {"api_key": "sk-secret-0123456789"}}, "extra_body: api_key holds a key"),
    ],
)
def test_settings_of_a_model_that_cannot_work_are_one_line_and_exit_2(
    tmp_path: Path, model: dict[str, Any], said: str
) -> None:
    content = model_flow("http://127.0.0.1:9/v1").model_dump(mode="json")
    content["models"]["explorer"] |= model
    done = run(tmp_path, content)
    assert done.returncode == 2
    assert said in last_line(done)
    assert "sk" + "_live" not in done.stderr
    assert "sk-secret" not in done.stderr
    assert not (tmp_path / "run").exists()
