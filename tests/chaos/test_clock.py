"""A clock that jumps, and a process that stands still: no limit, wait or label depends on what time
it is said to be.
"""

import os
import signal
import time
from email.utils import formatdate
from pathlib import Path
from random import Random

import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import Ground, asked
from tests.chaos.holding import held, mislabelled, rows, twice
from tests.flows.test_killed import journal_lines
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer, Mishap

pytestmark = pytest.mark.chaos
LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)
JUMPS = ("+400d", "-400d", "+3h", "-3h", "-90", "+0")
LIMITS = {"time_s": 2, "step_timeout_s": 2}
FAULTS = frozenset({"model", "timeout"})


def noted(ground: Ground, fault: str, table: FaultsTable, truth: str, ended: str) -> None:
    """Runs again, in a world of steady time."""
    before = held(ground.url)
    wrong = mislabelled(ground.url, truth, FAULTS)
    assert ground.run() == "finished"
    after = held(ground.url)
    assert rows(ground.url) == rows(truth)
    rerun = "nothing to do" if after == before else "the rows of an undisturbed run"
    table.note(
        fault,
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=wrong,
        ended=ended,
        rerun=rerun,
    )


@pytest.mark.skipif(LIBRARY is None, reason="libfaketime is missing: apt install faketime")
@pytest.mark.parametrize("point", range(2))
def test_the_clock_jumps_to_and_fro(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random
) -> None:
    """Between `Retry-After` headers that name a date, which is the only place where the time of day
    decides anything.
    """
    with ChatServer(echo_expert, latency_s=0.03) as server:
        flow = asked(server.url, rollout={"limits": LIMITS}, model={"total_timeout_s": 5})
        truth = Ground(tmp_path / "undisturbed", flow)
        assert truth.run() == "finished"
    dated = Mishap("status", status=429, retry_after=formatdate(time.time() + 1, usegmt=True))
    with ChatServer(
        echo_expert,
        latency_s=0.03,
        mishaps=[dated if draw.random() < 0.1 else None for _ in range(100)],
    ) as server:
        ground = Ground(
            tmp_path, asked(server.url, rollout={"limits": LIMITS}, model={"total_timeout_s": 5})
        )
        clock = tmp_path / "clock"
        clock.write_text("+0")
        jumping = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_NO_CACHE": "1",
        }
        process = ground.start(
            environment=jumping | {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
        )
        ground.begun(process)
        while process.poll() is None:
            aside = clock.with_suffix(".new")
            aside.write_text(draw.choice(JUMPS))
            aside.replace(clock)
            time.sleep(draw.uniform(0.02, 0.15))
        ended = ground.ended(process)
        with connect(StoredLedger(ground.url)) as connection:
            days = connection.execute(
                "SELECT count(DISTINCT left(created_at, 10)) FROM trajectories"
            ).fetchone()
        assert days is not None
        assert days[0] > 1, "the clock did jump"
        noted(ground, "the clock jumps by hours and years, both ways", table, truth.url, ended)


@pytest.mark.parametrize(
    "point", [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(2)]
)
@pytest.mark.nightly
def test_the_process_stands_still_for_longer_than_its_limits(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random
) -> None:
    """As after Ctrl-Z, in a paused virtual machine, behind a debugger."""
    with ChatServer(echo_expert, latency_s=0.05) as server:
        flow = asked(server.url, rollout={"limits": LIMITS})
        truth = Ground(tmp_path / "undisturbed", flow)
        assert truth.run() == "finished"
        ground = Ground(tmp_path, flow)
        process = ground.start()
        for lines in sorted(draw.sample(range(5, 60), 2)):
            while process.poll() is None and journal_lines(ground.state) < lines:
                time.sleep(0.002)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGSTOP)
                time.sleep(2.5)
                os.killpg(process.pid, signal.SIGCONT)
        noted(
            ground,
            "the process stands still (SIGSTOP) beyond its limits",
            table,
            truth.url,
            ground.ended(process),
        )
