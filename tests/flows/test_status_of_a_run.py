"""`synth status` tells of the run, not only of whoever was there last."""

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from synth.claims.workers import Heartbeat, of_this_process, write
from synth.cli.status import status
from synth.engine.runs.beating import remember
from synth.ledger.storage import Storage


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "run").mkdir()
    remember(str(tmp_path / "run"))
    return Storage(str(tmp_path / "run"))


def record(storage: Storage, identity: str, **changes: object) -> Heartbeat:
    beat = of_this_process("echo", storage, identity=identity, flow_run=None, api=None)
    beat = msgspec.structs.replace(beat, **changes)
    write(storage, beat)
    return beat


def killed(storage: Storage, **changes: object) -> Heartbeat:
    """The record that a process leaves which was killed with -9."""
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    return record(storage, "killed", pid=ended.pid, **changes)


def told(*options: str) -> tuple[str, str]:
    done = CliRunner().invoke(status, options, catch_exceptions=False)
    return done.stdout, done.stderr


def test_a_run_that_another_process_completed_is_completed(storage: Storage) -> None:
    killed(storage)
    record(storage, "other", state="completed", stages_done=3)
    out, err = told()
    (line,) = out.splitlines()
    assert line.startswith("completed ")
    assert "all of its 3 stages done" in line
    assert "1 other process died at it" in line
    assert "--reap" not in err


def test_a_process_beside_the_completed_one_that_beat_longest_changes_nothing(
    storage: Storage,
) -> None:
    killed(storage, beat=time.time() + 3)
    record(storage, "other", state="completed", stages_done=3)
    assert told()[0].startswith("completed ")


def test_one_that_began_after_the_completion_and_died_is_dead(storage: Storage) -> None:
    record(storage, "other", state="completed", stages_done=3, beat=time.time() - 60)
    killed(storage, stage="filter", done=3, total=9, unit="trajectories", stages_done=1)
    out, err = told()
    assert out.startswith("dead ")
    assert "filter: 3 of 9 trajectories; 1 stage done" in out
    assert "--reap" in err


def test_all_who_ever_worked_on_it_are_told_when_it_is_asked_for_by_name(storage: Storage) -> None:
    killed(storage, stage="rollout", done=1, total=8, unit="episodes")
    record(storage, "other", state="completed", stages_done=3)
    out, err = told("--run", storage.url)
    assert "was at rollout: 1 of 8 episodes; another process completed the run" in out
    assert len(out.splitlines()) == 2
    assert "--reap" not in err


def test_a_flow_run_that_the_server_still_has_at_work_is_to_be_reaped(storage: Storage) -> None:
    killed(storage, flow_run="a")
    record(storage, "other", state="completed", stages_done=3)
    assert "--reap" in told()[1]
