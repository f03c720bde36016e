"""One flow at a time on a run directory; any number of processes on that flow; the lock dies with
its process.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from synth.ledger.storage.flow_lock import flow_lock
from synth.schemas.errors import ConfigError, SynthError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synth.ledger.storage.flow_lock.PATIENCE_S", 0.1)


def held(folder: Path, flow: str, url: str = "runs/x") -> None:
    with flow_lock(folder, flow, f"name of {flow}", url):
        pass


def test_another_flow_is_refused_while_one_holds_the_run_and_let_in_after(tmp_path: Path) -> None:
    with (
        flow_lock(tmp_path, "a", "night", "runs/x"),
        pytest.raises(
            ConfigError,
            match=rf"runs/x: the flow 'night' is running on it \(process {os.getpid()}\), .* or "
            r"name another run",
        ),
    ):
        held(tmp_path, "b")
    held(tmp_path, "b")
    held(tmp_path, "a")


def test_the_same_flow_is_held_by_several(tmp_path: Path) -> None:
    with flow_lock(tmp_path, "a", "night", "runs/x"):
        with flow_lock(tmp_path, "a", "night", "runs/x"):
            held(tmp_path, "a")
        with pytest.raises(ConfigError):
            held(tmp_path, "b")


def test_another_flow_waits_for_the_last_of_several(tmp_path: Path) -> None:
    first = flow_lock(tmp_path, "a", "night", "runs/x")
    first.__enter__()
    with flow_lock(tmp_path, "a", "night", "runs/x"):
        first.__exit__(None, None, None)
        with pytest.raises(ConfigError):
            held(tmp_path, "b")
    held(tmp_path, "b")


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib; from synth.ledger.storage.flow_lock import flow_lock\n"
        "with flow_lock(pathlib.Path(sys.argv[1]), 'a', 'night', 'runs/x'): print('held', "
        "flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(
        ConfigError, match=rf"the flow 'night' is running on it \(process {process.pid}\)"
    ):
        held(tmp_path, "b")
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    held(tmp_path, "b")


def _enter(folder: Path, flow: str, start: Event, log: Path) -> None:
    start.wait()
    try:
        with flow_lock(folder, flow, flow, "runs/x"):
            (log / f"{flow}-{os.getpid()}-in").touch()
            time.sleep(0.2)
            others = {path.name[0] for path in log.iterdir() if path.name.endswith("-in")} - {flow}
            (log / f"{flow}-{os.getpid()}-in").unlink()
            if others:
                (log / f"{flow}-{os.getpid()}-together").touch()
            (log / f"{flow}-{os.getpid()}-done").touch()
    except ConfigError:
        (log / f"{flow}-{os.getpid()}-refused").touch()


def test_processes_of_two_flows_that_start_at_once_are_never_in_together(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Event()
    log = tmp_path / "log"
    log.mkdir()
    processes = [
        context.Process(target=_enter, args=(tmp_path, flow, start, log)) for flow in "aabb"
    ]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join()
    endings = sorted(path.name.rsplit("-", 1)[1] for path in log.iterdir())
    assert "together" not in endings
    assert len(endings) == 4
    assert "done" in endings


def test_a_garbled_or_empty_lock_file_holds_nobody_up(tmp_path: Path) -> None:
    for content in (b"", b"{", b"\xff" * 9000):
        (tmp_path / "flow.lock").write_bytes(content)
        held(tmp_path, "a")


def test_a_folder_that_cannot_hold_the_lock_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        SynthError, match=f"{tmp_path / 'file'}: is a file where a folder belongs; move it away"
    ):
        held(tmp_path / "file" / "journal", "a")
    (tmp_path / "flow.lock").mkdir()
    with pytest.raises(
        SynthError, match=r"flow\.lock: is a folder where a file belongs; move it away"
    ):
        held(tmp_path, "a")
