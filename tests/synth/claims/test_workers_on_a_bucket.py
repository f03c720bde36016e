"""Workers of one run on machines that share nothing but a bucket."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.storage import Storage
from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, model_flow, run_flow
from tests.synth.canonical_content import canonical_content
from tests.synth.claims.machines import settled
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

pytest.importorskip("s3fs")
pytest.importorskip("moto")
pytest.importorskip("flask")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TURNS, TASKS, TRIALS = 4, 20, 4
CALLS = TASKS * TRIALS * (TURNS + 1)
SKEWED = (
    "import time; real = time.time; time.time = lambda: real() + 86_400; from synth.cli.main "
    "import main; main()"
)
"""The command line on a machine whose clock is a day ahead."""

SLOW = """
import asyncio
from synth.rollout import slots
at_once = slots.run_attempt
async def slowly(*given, **named):
    await asyncio.sleep(5)
    return await at_once(*given, **named)
slots.run_attempt = slowly
from synth.cli.main import main; main()
"""
"""The command line on a machine where each episode takes five seconds longer."""


def start(flow_file: Path, url: str, state: Path, *command: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"SYNTH_STATE_DIR": str(state)}
    return subprocess.Popen(
        [*(command or SYNTH), "run", str(flow_file), "--run-dir", url],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def flow_at(url: str, path: Path, lease_s: float, shard: int = 20) -> Path:
    flow = model_flow(
        url,
        env={"name": "echo", "tasks": TASKS, "turns": TURNS},
        stages=[
            {"rollout": {"trials": TRIALS, "shard": shard, "live": 10}},
            {"filter": ["solved"]},
        ],
        lease_s=lease_s,
    )
    path.write_text(flow.model_dump_json())
    return path


def test_two_machines_that_share_only_a_bucket_do_each_shard_once(
    bucket: str, tmp_path: Path
) -> None:
    with ChatServer(echo_expert, latency_s=0.05) as model:
        flow_file = flow_at(model.url, tmp_path / "flow.yaml", lease_s=30)
        both = [start(flow_file, bucket, tmp_path / f"machine{number}") for number in range(2)]
        outputs = [process.communicate(timeout=180)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        assert model.counts()["total"] == CALLS
    found = settled(bucket)
    assert len(found) == TASKS * TRIALS
    assert {attempt for _, attempt in found} == {0}


def test_a_stopped_worker_is_taken_over_by_one_whose_clock_is_a_day_ahead_and_loses_when_it_wakes(
    bucket: str, tmp_path: Path
) -> None:
    with ChatServer(echo_expert, latency_s=0.1) as model:
        flow_file = flow_at(model.url, tmp_path / "flow.yaml", lease_s=12)
        stopped = start(flow_file, bucket, tmp_path / "stopped")
        until(
            lambda: journals(tmp_path / "stopped") and model.counts()["total"] >= 10,
            "the first worker asks nothing",
        )
        stopped.send_signal(signal.SIGSTOP)
        other = start(flow_file, bucket, tmp_path / "other", sys.executable, "-c", SKEWED)
        said, _ = other.communicate(timeout=180)
        assert other.returncode == 0, said
        assert (
            "others work on this run; waiting for their episodes, or for a silence of 12 s" in said
        )
        whole = settled(bucket)
        assert len(whole) == TASKS * TRIALS
        asked = model.counts()["total"]
        stopped.send_signal(signal.SIGCONT)
        said, _ = stopped.communicate(timeout=180)
        assert stopped.returncode == 0, said
        assert re.search(
            "this process was silent for so long that others took [0-9]+ of its episodes over; "
            "its own tries are dropped",
            said,
        )
        paid_twice = model.counts()["total"] - asked
    assert settled(bucket) == whole
    assert StoredLedger(bucket).state.superseded == frozenset()
    assert lost_lines(StoredLedger(bucket).state) == []
    assert min(StoredLedger(bucket).state.fences.values()) >= 1
    assert paid_twice < CALLS / 2, "it is stopped at its next renewal, not at its commit"


def journals(machine: Path) -> list[Path]:
    return list(machine.glob("journal/*/*.jsonl"))


def replies(machine: Path) -> int:
    return sum(path.read_bytes().count(b'"reply"') for path in journals(machine))


def until(condition: Callable[[], object], otherwise: str) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def played(said: str) -> int:
    found = re.search(f"rollout: ([0-9]+)(?:/{TASKS * TRIALS})? episodes in", said)
    assert found is not None
    return int(found[1])


def test_a_fast_worker_plays_what_a_slow_one_has_not_begun_and_a_killed_one_costs_what_it_held(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All episodes are of one shard, and the slow worker began it."""
    with ChatServer(echo_expert, latency_s=0.05) as model:
        flow_file = flow_at(model.url, tmp_path / "flow.yaml", lease_s=12, shard=TASKS * TRIALS)
        slow = start(flow_file, bucket, tmp_path / "slow", sys.executable, "-c", SLOW)
        until(lambda: journals(tmp_path / "slow"), "the slow worker begins nothing")
        at, slower = tmp_path / "killed", SLOW.replace("sleep(5)", "sleep(1)")
        killed = start(flow_file, bucket, at, sys.executable, "-c", slower)
        until(lambda: replies(at) > TURNS, "the one that is to be killed plays nothing")
        killed.kill()
        killed.communicate()
        lost = replies(at)
        fast = start(flow_file, bucket, tmp_path / "fast")
        said = [worker.communicate(timeout=180)[0] for worker in (slow, fast)]
        assert [slow.returncode, fast.returncode] == [0, 0], said
        assert CALLS + lost <= model.counts()["total"] <= CALLS + lost + 10, (
            "of the killed one's calls some had no answer yet"
        )
        monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "direct-state"))
        run_flow(Flow.model_validate_json(flow_file.read_text()), str(tmp_path / "direct"))
    by_slow, by_fast = map(played, said)
    assert by_slow + by_fast == TASKS * TRIALS
    assert min(by_slow, by_fast) >= 10, (
        "how many each plays depends on how soon the fast one has started"
    )
    assert {attempt for _, attempt in settled(bucket)} == {0}
    assert len(settled(bucket)) == TASKS * TRIALS
    assert len(StoredLedger(bucket).state.fences) == 1, "only the killed one was declared dead"
    assert not any(name.endswith(".0") for name in Storage(bucket).names("claims")), (
        "claims are cleared away with the stage"
    )
    there, here = (
        {t.trajectory_id: canonical_content(t) for t in StoredLedger(url).trajectories()}
        for url in (bucket, str(tmp_path / "direct"))
    )
    assert there == here
