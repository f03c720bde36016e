"""Killed at random moments and at chosen system calls, alone and two at a time: a rerun ends with
the rows of an undisturbed run.
"""

import shutil
import time
from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import STRACE, Ground, every_stage, kill
from tests.chaos.holding import held, mislabelled, rows, twice

pytestmark = pytest.mark.chaos
ROUNDS = 6
CALLS = {
    "fsync": 80,
    "link": 50,
    "unlink": 70,
    "rename": 4,
    "mkdir": 60,
    "write": 200,
    "flock": 10,
    "openat": 5000,
}
"""How many of each a run makes at the least."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, float]:
    """A run that nobody disturbed, and the seconds it took after its first line."""
    ground = Ground(tmp_path_factory.mktemp("undisturbed"), every_stage())
    process = ground.start()
    ground.begun(process)
    began = time.monotonic()
    assert ground.ended(process) == "finished"
    return ground.url, time.monotonic() - began


def whole(
    ground: Ground,
    fault: str,
    table: FaultsTable,
    undisturbed: str,
    before: int,
    lost: int,
    ended: str,
) -> None:
    """Runs again, to the end, and then once more: the rows of the undisturbed run, and nothing left
    to do.
    """
    first = held(ground.url)
    assert ground.run() == "finished"
    second = held(ground.url)
    assert rows(ground.url) == rows(undisturbed)
    assert not list(ground.state.glob("journal/*/*.jsonl")), (
        "what is committed is journaled no more"
    )
    lost += first.lost(second)
    labels = mislabelled(ground.url, undisturbed)
    rerun = "the rows of an undisturbed run"
    table.note(
        fault,
        before=before,
        after=second.records,
        lost=lost,
        twice=twice(ground.url),
        mislabelled=labels,
        ended=ended,
        rerun=rerun,
    )


@pytest.mark.parametrize(
    "point", [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(ROUNDS)]
)
def test_killed_three_times_at_random_moments(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: tuple[str, float]
) -> None:
    url, seconds = undisturbed
    ground = Ground(tmp_path, every_stage())
    lost, before, killed = 0, held(ground.url), 0
    for _ in range(3):
        process = ground.start()
        ground.begun(process)
        time.sleep(draw.uniform(0, 0.7 * seconds))
        killed += process.poll() is None
        kill(process)
        now = held(ground.url)
        lost, before = lost + before.lost(now), now
    assert killed, "not all were over before"
    whole(
        ground,
        "kill -9 of the process, three times, at random moments",
        table,
        url,
        before.records,
        lost,
        "killed",
    )


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: apt install strace")
@pytest.mark.parametrize(
    "call",
    [pytest.param(call, marks=pytest.mark.slow) if call == "link" else call for call in CALLS],
)
def test_killed_at_a_system_call(
    call: str, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: tuple[str, float]
) -> None:
    """The crash stands before the call's effect, on the way in: a file written and not linked,
    linked and not named, and so on.
    """
    ground = Ground(tmp_path, every_stage())
    number = draw.randint(CALLS[call] // 4, CALLS[call])
    ended = ground.run(
        [*STRACE, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
    )
    assert ended == "killed"
    before = held(ground.url)
    whole(
        ground, "kill -9 at a chosen system call", table, undisturbed[0], before.records, 0, ended
    )


@pytest.mark.parametrize(
    "point", [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(3)]
)
def test_one_of_two_workers_on_a_run_is_killed(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: tuple[str, float]
) -> None:
    url, seconds = undisturbed
    ground = Ground(tmp_path, every_stage())
    first = ground.start()
    ground.begun(first)
    second = ground.start()
    time.sleep(draw.uniform(0, seconds))
    kill(draw.choice((first, second)))
    before = held(ground.url)
    ends = [ground.ended(one) for one in (first, second) if one.returncode != -9]
    assert set(ends) <= {"finished"}
    now = held(ground.url)
    assert rows(ground.url) == rows(url), "the other one finishes the work"
    ended = "one killed, the other finished"
    whole(
        ground,
        "kill -9 of one of two workers on a run",
        table,
        url,
        before.records,
        before.lost(now),
        ended,
    )


@pytest.mark.parametrize("point", range(2))
def test_two_machines_on_a_run_that_cannot_see_each_other(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: tuple[str, float]
) -> None:
    """Two state folders stand for two machines: both do the same work, and the first commit of a
    slot is the one that is seen.
    """
    ground = Ground(tmp_path, every_stage())
    first = ground.start()
    time.sleep(draw.uniform(0, 1))
    second = ground.start(state=tmp_path / "other")
    ends = [ground.ended(one) for one in (first, second)]
    whole(
        ground,
        "two runs on one directory, two machines",
        table,
        undisturbed[0],
        ground.records(),
        0,
        " and ".join(ends),
    )


def test_another_flow_on_the_same_directory_is_refused_while_one_runs(
    tmp_path: Path, table: FaultsTable, undisturbed: tuple[str, float]
) -> None:
    ground = Ground(tmp_path, every_stage())
    first = ground.start()
    ground.begun(first)
    ground.write(every_stage().model_copy(update={"seed": 8}))
    refused = ground.run()
    assert "is running on it" in refused
    ground.write(every_stage())
    assert ground.ended(first) == "finished"
    ended = "one finished, the other stopped: the flow is running on it"
    whole(ground, "two flows on one directory", table, undisturbed[0], ground.records(), 0, ended)
