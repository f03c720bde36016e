"""The same flow under Prefect's engine, with real servers on loopback."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.ledger import StoredLedger
from tests.flow_files import SYNTH, echo_flow, run_flow
from tests.synth.canonical_content import canonical_content

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a Prefect home and a state folder of its own."""
    return os.environ | {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "SYNTH_STATE_DIR": str(tmp_path / "state"),
    }


def flow_file(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "flow.yaml"
    path.write_text(yaml.safe_dump(echo_flow(**changes).model_dump(mode="json")))
    return path


def servers() -> set[int]:
    """Prefect servers that a run started for itself and that are alive."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if b"synth.flows.prefect" in command:
                found.add(int(folder.name))
    return found


@pytest.fixture
def server(tmp_path: Path, home: dict[str, str]) -> Iterator[str]:
    """A Prefect server as a user runs one, on loopback."""
    port = 4300 + os.getpid() % 500
    process = subprocess.Popen(
        [
            SYNTH[0],
            "-m",
            "prefect",
            "server",
            "start",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-ui",
        ],
        env=home | {"PREFECT_SERVER_ANALYTICS_ENABLED": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}/api"
    deadline = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2)
            break
        except OSError:
            assert time.monotonic() < deadline, "the Prefect server did not start"
            time.sleep(0.2)
    yield url
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ask(url: str, path: str) -> list[dict[str, Any]]:
    request = urllib.request.Request(
        f"{url}/{path}/filter", data=b"{}", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        found: list[dict[str, Any]] = json.load(answer)
        return found


def test_a_real_server_records_the_flow_run_and_the_ledger_is_that_of_a_direct_run(
    tmp_path: Path, home: dict[str, str], server: str
) -> None:
    url = str(tmp_path / "run")
    done = subprocess.run(
        [*SYNTH, "run", str(flow_file(tmp_path)), "--run-dir", os.path.relpath(url, ROOT)],
        env=home | {"PREFECT_API_URL": server},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Funnel" in done.stdout
    assert f"runs under Prefect at {server}" in done.stderr
    assert "Traceback" not in done.stderr
    (flow_run,) = ask(server, "flow_runs")
    assert flow_run["state"]["type"] == "COMPLETED"
    place = Path(flow_run["parameters"]["run_dir"])  # by which it is closed, should it be killed
    assert place.is_absolute()
    assert place.resolve() == Path(url).resolve()
    assert {artifact["key"] for artifact in ask(server, "artifacts")} == {"funnel", "links"}
    run_flow(echo_flow(), str(tmp_path / "direct"))
    runs = [
        {t.trajectory_id: canonical_content(t) for t in StoredLedger(u).trajectories()}
        for u in (url, str(tmp_path / "direct"))
    ]
    assert runs[0] == runs[1]
    curate = [*SYNTH, "curate", url, str(flow_file(tmp_path, stages=[{"filter": ["solved"]}]))]
    environment = home | {"PREFECT_API_URL": server}
    done = subprocess.run(
        curate, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {flow_run["state"]["type"] for flow_run in ask(server, "flow_runs")} == {"COMPLETED"}
    assert len(ask(server, "flow_runs")) == 2


@pytest.mark.nightly
def test_a_server_of_its_own_is_gone_after_the_run(tmp_path: Path, home: dict[str, str]) -> None:
    before = servers()
    command = [
        *SYNTH,
        "run",
        str(flow_file(tmp_path, stages=[])),
        "--run-dir",
        str(tmp_path / "run"),
        "--prefect",
    ]
    done = subprocess.run(
        command, env=home, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
    assert servers() == before


def test_sigkill_leaves_no_server_behind(tmp_path: Path, home: dict[str, str]) -> None:
    before = servers()
    slow = flow_file(tmp_path, env={"name": "echo", "tasks": 50, "turns": 50, "step_ms": 50})
    process = subprocess.Popen(
        [*SYNTH, "run", str(slow), "--run-dir", str(tmp_path / "run"), "--prefect"],
        env=home,
        cwd=ROOT,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "run" / "manifest").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert servers() - before
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while servers() - before:
        assert time.monotonic() < deadline, "the server outlives the killed run"
        time.sleep(0.1)


def test_a_server_that_does_not_answer_is_one_line(tmp_path: Path, home: dict[str, str]) -> None:
    command = [*SYNTH, "run", str(flow_file(tmp_path)), "--run-dir", str(tmp_path / "run")]
    environment = home | {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "synth: Prefect: no server answers at http://127.0.0.1:9/api (PREFECT_API_URL)"
    )
    assert not (tmp_path / "run").exists()
