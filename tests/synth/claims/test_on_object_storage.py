"""The ledger and its leases on an S3 server, where conditional puts are all that workers have in
common.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.ledger import Ledger, StageRef
from synth.ledger.log import manifest_checkpoints
from synth.ledger.log.fencing import FENCE, FencedError
from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from synth.schemas.errors import DamagedError
from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, model_flow, run_flow
from tests.s3_server import make_bucket, serving
from tests.synth.canonical_content import canonical_content
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer
from tests.trajectories import make_trajectory

pytest.importorskip("s3fs")
pytest.importorskip("moto")
pytest.importorskip("flask")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
REF = StageRef("rollout", "key1")
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


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, dict[str, str]]]:
    with serving() as found:
        yield found


@pytest.fixture
def server(served: tuple[str, dict[str, str]]) -> str:
    return served[0]


@pytest.fixture
def bucket(
    served: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> str:
    url, variables = served
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    name = re.sub("[^a-z]", "-", request.node.name)[5:60].strip("-")
    make_bucket(url, name)
    return f"s3://{name}/run"


def lose(server: str, count: int, path: str) -> None:
    urllib.request.urlopen(
        urllib.request.Request(f"{server}/-/lose?count={count}&path={path}", method="POST")
    )


def slots(url: str) -> list[tuple[str, int]]:
    return sorted(
        (record.slot_id, record.attempt)
        for shard in Ledger(url).state.shards
        for record in shard.slots
    )


def test_a_name_is_given_once(bucket: str) -> None:
    storage = Storage(bucket)
    assert storage.create("manifest/0", b"first")
    assert not storage.create("manifest/0", b"second")
    assert storage.read("manifest/0") == b"first"


def test_of_many_that_create_a_name_at_once_one_does(bucket: str) -> None:
    storage, created = Storage(bucket), list[int]()
    barrier = threading.Barrier(8)

    def create(number: int) -> None:
        barrier.wait()
        if storage.create("manifest/0", str(number).encode()):
            created.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(number).encode() for number in created] == [storage.read("manifest/0")]


@pytest.mark.parametrize("path", ["/manifest/", "/trajectories/", "/claims/"])
def test_a_put_whose_answer_is_lost_is_known_for_ours_when_it_is_sent_again(
    bucket: str, server: str, path: str
) -> None:
    """Sent again it is refused: taken for another writer's, the shard were committed twice, or its
    files were removed.
    """
    ledger = Ledger(f"{bucket}-{path.strip('/')}", create=True)
    lose(server, 1, path)
    ledger.commit(REF, trajectories=[make_trajectory("x")])
    again = Ledger(ledger.storage.url)
    assert slots(ledger.storage.url) == [("x", 0)]
    assert again.state.lost == []
    assert [t.slot_id for t in again.trajectories(every=True)] == ["x"]


def test_lines_that_another_process_appends_after_a_listing_are_seen(bucket: str) -> None:
    reader = Ledger(bucket, create=True)
    reader.storage.names("manifest")
    code = (
        "import sys; from synth.ledger import Ledger, StageRef; from tests.trajectories import "
        "make_trajectory;"
        "Ledger(sys.argv[1]).commit(StageRef('rollout', 'key1'), "
        "trajectories=[make_trajectory('x')])"
    )
    subprocess.run([sys.executable, "-c", code, bucket], cwd=ROOT, check=True)
    assert reader.refresh().lines == 2
    reader.commit(REF, trajectories=[make_trajectory("y")])
    assert slots(bucket) == [("x", 0), ("y", 0)]


def test_a_run_is_opened_by_packs_and_a_line_that_is_missing_is_named_though_a_pack_holds_it(
    bucket: str,
) -> None:
    writer, reader = Ledger(bucket, create=True), Ledger(bucket)
    for token in range(1, 40):
        writer.fence("w", token, "h")
    assert len(writer.storage.names(manifest_checkpoints.FOLDER)) == 6
    assert reader.refresh() == writer.state
    asked: list[str] = []
    read = Storage.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "read", lambda self, name: (asked.append(name), read(self, name))[1])
        assert Ledger(bucket).state == writer.state
    assert len(asked) < 10
    assert list(problems(writer.storage, Verified())) == []
    writer.storage.discard("manifest/00000005")
    with pytest.raises(DamagedError, match="manifest/00000005: this manifest line is missing"):
        Ledger(bucket)


def test_two_workers_given_the_same_work_cannot_both_commit(bucket: str) -> None:
    first, second = Ledger(bucket, create=True), Ledger(bucket)
    second.fence("w", 1, "second")
    outcomes = []
    for ledger, holder in ((first, "w"), (second, "second"), (first, "w")):
        before = FENCE.set(holder)
        try:
            ledger.commit(REF, trajectories=[make_trajectory("x")])
            outcomes.append("committed")
        except FencedError:
            outcomes.append("refused")
        finally:
            FENCE.reset(before)
    assert outcomes == ["refused", "committed", "refused"]
    assert slots(bucket) == [("x", 0)]
    assert len(first.storage.names("trajectories")) == 1


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
    found = slots(bucket)
    assert len(found) == TASKS * TRIALS
    assert {attempt for _, attempt in found} == {0}


def test_a_stopped_worker_is_taken_over_by_one_whose_clock_is_a_day_ahead_and_loses_when_it_wakes(
    bucket: str, tmp_path: Path
) -> None:
    with ChatServer(echo_expert, latency_s=0.1) as model:
        flow_file = flow_at(model.url, tmp_path / "flow.yaml", lease_s=12)
        stopped = start(flow_file, bucket, tmp_path / "stopped")
        deadline = time.monotonic() + 90
        while (
            not list((tmp_path / "stopped").glob("journal/*/*.jsonl"))
            or model.counts()["total"] < 10
        ):
            assert time.monotonic() < deadline, "the first worker asks nothing"
            time.sleep(0.02)
        stopped.send_signal(signal.SIGSTOP)
        other = start(flow_file, bucket, tmp_path / "other", sys.executable, "-c", SKEWED)
        said, _ = other.communicate(timeout=180)
        assert other.returncode == 0, said
        assert (
            "others work on this run; waiting for their episodes, or for a silence of 12 s" in said
        )
        whole = slots(bucket)
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
    assert slots(bucket) == whole
    assert Ledger(bucket).state.superseded == frozenset()
    assert Ledger(bucket).state.lost == []
    assert min(Ledger(bucket).state.fences.values()) >= 1
    assert paid_twice < CALLS / 2, "it is stopped at its next renewal, not at its commit"


def played(said: str) -> int:
    return int(re.search(f"rollout: ([0-9]+)(?:/{TASKS * TRIALS})? episodes in", said)[1])  # type: ignore[index]


def test_what_a_slow_worker_has_not_begun_is_played_by_a_fast_one_and_a_killed_one_costs_only_what_it_had_in_hand(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All episodes are of one shard, and the slow worker began it."""
    with ChatServer(echo_expert, latency_s=0.05) as model:
        flow_file = flow_at(model.url, tmp_path / "flow.yaml", lease_s=12, shard=TASKS * TRIALS)
        slow = start(flow_file, bucket, tmp_path / "slow", sys.executable, "-c", SLOW)
        deadline = time.monotonic() + 90
        while not list((tmp_path / "slow").glob("journal/*/*.jsonl")):
            assert time.monotonic() < deadline, "the slow worker begins nothing"
            time.sleep(0.02)
        killed = start(
            flow_file,
            bucket,
            tmp_path / "killed",
            sys.executable,
            "-c",
            SLOW.replace("sleep(5)", "sleep(1)"),
        )
        while (
            sum(
                path.read_bytes().count(b'"reply"')
                for path in (tmp_path / "killed").glob("journal/*/*.jsonl")
            )
            < TURNS + 1
        ):
            assert time.monotonic() < deadline, "the one that is to be killed plays nothing"
            time.sleep(0.02)
        killed.kill()
        killed.communicate()
        lost = sum(
            path.read_bytes().count(b'"reply"')
            for path in (tmp_path / "killed").glob("journal/*/*.jsonl")
        )
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
    assert {attempt for _, attempt in slots(bucket)} == {0}
    assert len(slots(bucket)) == TASKS * TRIALS
    assert len(Ledger(bucket).state.fences) == 1, "only the killed one was declared dead"
    assert not any(name.endswith(".0") for name in Storage(bucket).names("claims")), (
        "claims are cleared away with the stage"
    )
    there, here = (
        {t.trajectory_id: canonical_content(t) for t in Ledger(url).trajectories()}
        for url in (bucket, str(tmp_path / "direct"))
    )
    assert there == here
