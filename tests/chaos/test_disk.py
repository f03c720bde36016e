"""A disk that is full, fails, or is slow: one clear line, nothing committed lost, no time of the
disk's counted as the agent's.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import STRACE, Ground, asked, every_stage
from tests.chaos.holding import held, mislabelled, rows, twice
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.chaos
traced = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is missing: apt install strace"
)
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EROFS")
CALLS = ("fsync", "link", "mkdir", "rename")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    ground = Ground(tmp_path_factory.mktemp("undisturbed"), every_stage())
    assert ground.run() == "finished"
    return ground.url


@pytest.fixture(scope="module")
def asked_undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    with ChatServer(echo_expert) as server:
        ground = Ground(tmp_path_factory.mktemp("undisturbed"), asked(server.url))
        assert ground.run() == "finished"
    return ground.url


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 KB, to be made larger."""
    found = tmp_path / "disk"
    found.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(found)]
    if (
        os.geteuid() != 0
        or subprocess.run(mounted, check=False, capture_output=True).returncode != 0
    ):
        pytest.skip("mounting a small disk is not permitted here")
    try:
        yield found
    finally:
        subprocess.run(["umount", "-l", str(found)], check=True)


def grown(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def whole(ground: Ground, fault: str, table: FaultsTable, undisturbed: str, ended: str) -> None:
    """Runs again where there is room: the rows of the undisturbed run."""
    before = held(ground.url)
    assert ground.run() == "finished"
    after = held(ground.url)
    assert rows(ground.url) == rows(undisturbed)
    table.note(
        fault,
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=mislabelled(ground.url, undisturbed),
        ended=ended,
        rerun="the rows of an undisturbed run",
    )


@pytest.mark.parametrize(
    "point", [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(4)]
)
def test_the_disk_of_the_run_is_full(
    point: int, tmp_path: Path, disk: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    grown(disk, f"{draw.randint(24, 700)}k")
    ground = Ground(tmp_path, every_stage(), run=disk / "run")
    ended = ground.run()
    assert (
        "the disk is full; free some space and run again: nothing that was committed is lost"
        in ended
    )
    grown(disk, "50m")
    whole(ground, "the run's disk is full", table, undisturbed, "stopped: the disk is full")


@pytest.mark.parametrize("point", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_the_disk_of_the_journals_is_full(
    point: int, tmp_path: Path, disk: Path, table: FaultsTable, draw: Random, asked_undisturbed: str
) -> None:
    grown(disk, f"{draw.choice((8, 12, 16, 20, 24))}k")
    with ChatServer(echo_expert) as server:
        ground = Ground(tmp_path, asked(server.url), state=disk / "state")
        for _ in range(2):
            ended = ground.run()
            assert (
                "the disk is full; free some space and run again: nothing that was committed is "
                "lost" in ended
            )
        grown(disk, "50m")
        whole(
            ground,
            "the journals' disk is full, twice",
            table,
            asked_undisturbed,
            "stopped: the disk is full",
        )


@traced
@pytest.mark.parametrize(
    "point", [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(6)]
)
def test_the_disk_fails_at_a_system_call(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    """From the drawn call on every one fails, as on a disk that has died."""
    call, error = CALLS[point % len(CALLS)], draw.choice(ERRORS)
    ground = Ground(
        tmp_path, every_stage(), run=tmp_path / "disk" / "run", state=tmp_path / "disk" / "state"
    )
    (tmp_path / "disk").mkdir()
    number = draw.randint(1, {"mkdir": 8, "rename": 3}.get(call, 40))
    ended = ground.run(
        [*STRACE, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}+"]
    )
    assert ended.startswith("stopped: ")
    whole(
        ground, "the disk fails at a chosen system call", table, undisturbed, "stopped in one line"
    )


@traced
def test_a_slow_disk(tmp_path: Path, table: FaultsTable, draw: Random) -> None:
    """Each fsync takes 0.4 s or more, which the event loop waits for; no agent may take longer than
    1.5 s over all its turns.
    """
    delay_us = draw.randint(400_000, 700_000)
    watch = [*STRACE, "-e", "trace=fsync", "-e", f"inject=fsync:delay_enter={delay_us}"]
    with ChatServer(echo_expert, latency_s=0.05) as server:
        flow = asked(
            server.url, rollout={"shard": 4, "limits": {"time_s": 1.5, "step_timeout_s": 1}}
        )
        truth = Ground(tmp_path / "undisturbed", flow)
        assert truth.run() == "finished"
        ground = Ground(tmp_path, flow)
        began = time.monotonic()
        ended = ground.run(watch)
        assert time.monotonic() - began > 10 * delay_us / 1e6, "commits wait for the disk"
        whole(ground, "a slow disk (every fsync 0.4 s to 0.7 s)", table, truth.url, ended)
