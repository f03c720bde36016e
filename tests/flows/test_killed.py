"""Killed, crowded, out of disk: nothing committed is lost, nothing stands twice, no journaled reply
is asked for again.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.claims.workers import heartbeats
from synth.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.ledger.storage.journal import JournaledReply, recorded
from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, echo_flow, model_flow, run_flow
from tests.rounds import rounds
from tests.synth.canonical_content import canonical_content
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

ROOT = Path(__file__).resolve().parents[2]
TASKS, TRIALS, TURNS = 50, 4, 3
CALLS = TASKS * TRIALS * (TURNS + 1)


def write(flow: Flow, path: Path) -> Path:
    path.write_text(yaml.safe_dump(flow.model_dump(mode="json")))
    return path


def start(flow_file: Path, url: str, **environment: str) -> "subprocess.Popen[str]":
    """`synth run` in a process group of its own."""
    return subprocess.Popen(
        [*SYNTH, "run", str(flow_file), "--run-dir", url],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def contents(url: str) -> dict[str, Any]:
    found = [(t.trajectory_id, canonical_content(t)) for t in StoredLedger(url).trajectories()]
    assert len(found) == len(dict(found)), "no trajectory stands twice"
    return dict(found)


def journal_lines(folder: Path) -> int:
    lines = 0
    for path in folder.glob("journal/*/*.jsonl"):
        with contextlib.suppress(FileNotFoundError):  # committed and removed between the two looks
            lines += path.read_bytes().count(b"\n")
    return lines


def kill_at(process: "subprocess.Popen[str]", folder: Path, lines: int) -> bool:
    """SIGKILL to the whole group once the journal has that many lines; False where the run was over
    before.
    """
    deadline = time.monotonic() + 60
    while process.poll() is None:
        if journal_lines(folder) >= lines:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        assert time.monotonic() < deadline, "the run neither journals nor ends"
        time.sleep(0.001)
    return False


def asked(server: ChatServer) -> int:
    """How many calls came, once the server has read all that was sent before the kill."""
    before, now = -1, server.counts()["total"]
    while now != before:
        time.sleep(0.5)
        before, now = now, server.counts()["total"]
    return now


def kill_flow(url: str) -> Flow:
    stages = [
        {"rollout": {"trials": TRIALS, "shard": 80, "live": 40}},
        {"filter": ["solved", "reexecuted"]},
    ]
    return model_flow(url, env={"name": "echo", "tasks": TASKS, "turns": TURNS}, stages=stages)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    os.environ["SYNTH_STATE_DIR"] = str(folder / "state")
    with ChatServer(echo_expert) as server:
        run_flow(kill_flow(server.url), str(folder / "run"))
        yield contents(str(folder / "run"))


@pytest.mark.slow
@pytest.mark.parametrize("point", rounds(*range(3), nightly=range(3, 20)))
def test_sigkill_anywhere_then_a_rerun_gives_the_run_that_was_not_disturbed(
    point: int, tmp_path: Path, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = undisturbed
    state, url = tmp_path / "state", str(tmp_path / "run")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(state))
    lines = random.Random(point).randint(1, 80 * (2 * TURNS + 3))
    with ChatServer(echo_expert, latency_s=0.002) as server:
        flow_file = write(kill_flow(server.url), tmp_path / "flow.yaml")
        first = start(flow_file, url, SYNTH_STATE_DIR=str(state))
        killed = kill_at(first, state, lines)
        paid = replies_on_disk(url, state)
        asked_before = asked(server)
        again = start(flow_file, url, SYNTH_STATE_DIR=str(state))
        output, _ = again.communicate(timeout=120)
        assert again.returncode == 0, output
        asked_after = asked(server) - asked_before
    assert killed
    assert contents(url) == expected
    assert asked_after == CALLS - paid, (
        f"{paid} replies were journaled or committed; {asked_after} calls were made after the kill"
    )
    assert journal_lines(state) == 0, "journals of committed shards are removed"


def replies_on_disk(url: str, state: Path) -> int:
    """Replies that the killed run had paid for: in committed shards, and in journals of shards that
    are not.
    """
    ledger = StoredLedger(url)
    committed = sum(len(t.turns) for t in ledger.trajectories())
    settled = set(ledger.state.slots)
    events, _ = recorded(ledger.journal_folder)
    journaled = sum(
        isinstance(e, JournaledReply) and e.slot_id not in settled
        for found in events.values()
        for e in found
    )
    return committed + journaled


@pytest.mark.slow
def test_two_processes_on_one_run_share_the_work(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    expected = undisturbed
    state, url = str(tmp_path / "state"), str(tmp_path / "run")
    with ChatServer(echo_expert, latency_s=0.01) as server:
        flow_file = write(kill_flow(server.url), tmp_path / "flow.yaml")
        both = [start(flow_file, url, SYNTH_STATE_DIR=state) for _ in range(2)]
        outputs = [process.communicate(timeout=120)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        assert server.counts()["total"] == CALLS
    assert contents(url) == expected


@pytest.mark.slow
def test_two_machines_on_one_run_lose_nothing_and_show_each_slot_once(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    """Two state folders stand for two machines: they cannot see each other's locks, only the
    ledger.
    """
    expected = undisturbed
    url = str(tmp_path / "run")
    with ChatServer(echo_expert, latency_s=0.01) as server:
        flow_file = write(kill_flow(server.url), tmp_path / "flow.yaml")
        both = [
            start(flow_file, url, SYNTH_STATE_DIR=str(tmp_path / f"state{i}")) for i in range(2)
        ]
        outputs = [process.communicate(timeout=120)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        assert server.counts()["total"] == CALLS, "each episode was in one worker's hands"
    assert {c["slot_id"] for c in contents(url).values()} == {
        c["slot_id"] for c in expected.values()
    }
    assert len(contents(url)) == len(expected)


@pytest.mark.slow
def test_a_journal_with_a_damaged_line_costs_one_call_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, url = tmp_path / "state", str(tmp_path / "run")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(state))
    with ChatServer(echo_expert, latency_s=0.02) as server:
        flow = model_flow(server.url, stages=[{"rollout": {"trials": 2}}])
        process = start(write(flow, tmp_path / "flow.yaml"), url, SYNTH_STATE_DIR=str(state))
        assert kill_at(process, state, 30)
        (journal,) = state.glob("journal/*/*.jsonl")
        lines = journal.read_bytes().splitlines(keepends=True)
        victim = max(i for i, line in enumerate(lines) if b'"reply"' in line)
        lines[victim] = lines[victim].replace(b'"reply"', b'"repli"')
        journal.write_bytes(b"".join(lines))
        _, reports, said = run_flow(flow, url)
    assert f"line {victim + 1} is damaged; the call that it held is made again" in said
    assert reports["rollout"]["outcomes"] == {"success": 8}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_one_line_nothing_committed_is_lost_and_a_rerun_finishes(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], check=False
        ).returncode
        != 0
    ):
        pytest.skip("mounting a small disk is not permitted here")
    try:
        url, state = str(disk / "run"), str(tmp_path / "state")
        flow = echo_flow(
            env={"name": "echo", "tasks": 60, "turns": 3, "payload_bytes": 300},
            stages=[{"rollout": {"trials": 8, "shard": 10, "live": 8}}],
        )
        flow_file = write(flow, tmp_path / "flow.yaml")
        process = start(flow_file, url, SYNTH_STATE_DIR=state)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 1, output
        (error,) = [line for line in output.splitlines() if line.startswith("synth: ")]
        assert (
            "the disk is full; free some space and run again: nothing that was committed is lost"
            in error
        )
        assert "Traceback" not in output
        committed = contents(url)
        assert 0 < len(committed) < 480
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        again = start(flow_file, url, SYNTH_STATE_DIR=state)
        output, _ = again.communicate(timeout=60)
        assert again.returncode == 0, output
        whole = contents(url)
        assert len(whole) == 480
        assert {key: whole[key] for key in committed} == committed
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_by_the_user_or_terminated_it_counts_what_is_committed_and_says_how_to_go_on(
    tmp_path: Path, number: int, code: int
) -> None:
    state, url = tmp_path / "state", str(tmp_path / "run")
    with ChatServer(echo_expert, latency_s=0.05) as server:
        process = start(
            write(kill_flow(server.url), tmp_path / "flow.yaml"), url, SYNTH_STATE_DIR=str(state)
        )
        while journal_lines(state) < 250:
            time.sleep(0.005)
        os.killpg(process.pid, number)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == code
    committed, (beat,) = len(contents(url)), heartbeats(Storage(url))
    assert (beat.state, beat.done) == ("interrupted", committed)
    assert output.splitlines()[-1] == (
        "synth: interrupted; what was committed and every reply that came in are kept: the same "
        "command goes on where this one stopped"
    )
    assert "Traceback" not in output
