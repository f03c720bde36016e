"""Heartbeats: who is at work on a run, and who only seems to be."""

import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from synth.claims import workers
from synth.claims.workers import Heartbeat, dead, heartbeats, lives, of_this_process, write
from synth.cli.status import status
from synth.engine.runs.beating import remembered
from synth.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.schemas.errors import SynthError
from tests.flow_files import echo_flow, model_flow, run_flow

QUICK = {"stages": [{"rollout": {"trials": 1}}]}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))


def mine(folder: Path) -> tuple[Storage, Heartbeat]:
    folder.mkdir(exist_ok=True)
    storage = Storage(str(folder))
    return storage, of_this_process("echo", storage, identity="one", flow_run=None, api=None)


def elsewhere(first: Heartbeat, **changes: object) -> Heartbeat:
    return msgspec.structs.replace(first, machine="another boot", **changes)


def test_a_run_leaves_what_it_was_at_and_how_it_ended(tmp_path: Path) -> None:
    run_flow(echo_flow(**QUICK), str(tmp_path / "run"))
    (beat,) = heartbeats(Storage(str(tmp_path / "run")))
    assert (beat.state, beat.flow, beat.stage, beat.done, beat.total, beat.faults) == (
        "completed",
        "echo",
        "rollout",
        4,
        4,
        0,
    )
    assert beat.url == str(tmp_path / "run")
    assert list(remembered()) == [beat.url]


def test_a_run_whose_model_cannot_be_reached_has_no_episode_done(tmp_path: Path) -> None:
    with pytest.raises(SynthError):
        run_flow(model_flow("http://127.0.0.1:9/v1", **QUICK), str(tmp_path / "run"))
    (beat,) = heartbeats(Storage(str(tmp_path / "run")))
    assert (beat.state, beat.done, beat.total) == ("failed", 0, 4)
    assert beat.faults > 4
    (line,) = CliRunner().invoke(status, catch_exceptions=False).stdout.splitlines()
    assert f"rollout: 0 of 4 episodes; 1 stage done, {beat.faults} attempts ended in faults" in line


def test_a_run_that_a_ceiling_stops_says_so(tmp_path: Path) -> None:
    run_flow(echo_flow(**QUICK, max_hours=1e-9), str(tmp_path / "run"))
    (beat,) = heartbeats(Storage(str(tmp_path / "run")))
    assert (beat.state, beat.message) == ("stopped", "max_hours 1e-09 is reached")


def test_where_no_record_can_be_written_a_worker_says_so_before_it_begins(tmp_path: Path) -> None:
    StoredLedger(str(tmp_path / "run"), create=True)
    (tmp_path / "run" / "workers").write_text("in the way")
    with pytest.raises(SynthError, match="run/workers"):
        run_flow(echo_flow(**QUICK), str(tmp_path / "run"))
    assert StoredLedger(str(tmp_path / "run")).state.flow is None


def test_this_process_lives_and_one_that_has_ended_does_not(tmp_path: Path) -> None:
    _, beat = mine(tmp_path / "run")
    assert lives(beat) is True
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    assert lives(msgspec.structs.replace(beat, pid=ended.pid)) is False


def test_a_process_that_was_given_the_number_of_a_dead_one_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    _, beat = mine(tmp_path / "run")
    assert lives(msgspec.structs.replace(beat, born="1")) is False


def test_on_another_machine_silence_is_no_proof(tmp_path: Path) -> None:
    _, beat = mine(tmp_path / "run")
    assert lives(elsewhere(beat), now=beat.beat + 5 * beat.every_s) is True
    assert lives(elsewhere(beat), now=beat.beat + 7 * beat.every_s) is None
    assert lives(elsewhere(beat), now=beat.beat - 3600) is True


def test_a_silent_one_of_another_machine_is_dead_only_if_it_stays_silent_while_it_is_watched(
    tmp_path: Path,
) -> None:
    storage, beat = mine(tmp_path / "run")
    behind = elsewhere(beat, every_s=0.1, beat=beat.beat - 3600)
    write(storage, behind)
    assert dead(storage, [behind]) == [behind]
    assert dead(storage, [behind], patient=False) == []
    again = threading.Timer(
        0.1, lambda: write(storage, msgspec.structs.replace(behind, beat=behind.beat + 0.1))
    )
    again.start()
    assert dead(storage, [behind]) == [], "its clock is an hour behind, but it beats"
    again.join()


def test_who_has_ended_is_not_dead(tmp_path: Path) -> None:
    storage, beat = mine(tmp_path / "run")
    assert dead(storage, [msgspec.structs.replace(beat, state="completed", born="1")]) == []


def test_heartbeats_go_on_while_the_event_loop_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "LOCAL_EVERY_S", 0.02)
    seen: set[float] = set()

    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            seen.update(beat.beat for beat in heartbeats(Storage(str(tmp_path / "run"))))

    watcher = threading.Thread(target=look)
    watcher.start()
    run_flow(
        echo_flow(env={"name": "echo", "tasks": 1, "turns": 3, "step_ms": 60}, **QUICK),
        str(tmp_path / "run"),
    )
    over.set()
    watcher.join()
    assert len(seen) >= 3
