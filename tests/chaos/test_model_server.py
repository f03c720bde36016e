"""A model's server that dies, comes back or does not, storms, and sends half of what it should:
faults of the model, and nothing else.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import ROOT, Ground, asked
from tests.chaos.holding import held, mislabelled, rows, twice
from tests.flows.test_killed import journal_lines
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer, Mishap

pytestmark = pytest.mark.chaos
FAULTS = frozenset({"model", "timeout"})
REFUSALS = [Mishap("status", status=status) for status in (429, 500, 502, 503, 504, 529)]
REFUSALS += [
    Mishap("status", status=status, retry_after=after)
    for status in (429, 503)
    for after in ("0", "0.2", "1", "soon")
]
HALVES = [
    Mishap(kind)
    for kind in (
        "truncated_json",
        "disconnect",
        "disconnect_before",
        "malformed_json",
        "wrong_content_type",
    )
]
HALVES += [Mishap(kind) for kind in ("empty_choices", "null_message")] + [
    Mishap("slow_bytes", delay_s=0.002)
]
some_slow = [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(3)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run whose server was well."""
    with ChatServer(echo_expert) as server:
        ground = Ground(tmp_path_factory.mktemp("undisturbed"), asked(server.url))
        assert ground.run() == "finished"
    return ground.url


class Served:
    """The server as a process of its own, on one port."""

    def __init__(self) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.start()

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        command = [
            sys.executable,
            "-m",
            "tests.synth.models.chat_server",
            "--port",
            str(self.port),
            "--brain",
            "echo-expert",
        ]
        self.process = subprocess.Popen(
            [*command, "--latency-ms", "15"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def kill(self) -> None:
        """SIGKILL."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def answered(ground: Ground, process: "subprocess.Popen[str]", lines: int) -> None:
    """Waits until so much is journaled, or the run is over."""
    while process.poll() is None and journal_lines(ground.state) < lines:
        time.sleep(0.002)


def whole(
    ground: Ground,
    fault: str,
    table: FaultsTable,
    undisturbed: str,
    ended: str,
    before: int,
    lost: int = 0,
) -> None:
    """Runs again beside a server that is well: every slot is valid, with the content of the
    undisturbed run.
    """
    first = held(ground.url)
    wrong = mislabelled(ground.url, undisturbed, FAULTS)
    assert ground.run() == "finished"
    second = held(ground.url)
    assert rows(ground.url) == rows(undisturbed)
    wrong += mislabelled(ground.url, undisturbed, FAULTS)
    rerun = "the rows of an undisturbed run" if second != first else "nothing to do"
    lost += first.lost(second)
    table.note(
        fault,
        before=before,
        after=second.records,
        lost=lost,
        twice=twice(ground.url),
        mislabelled=wrong,
        ended=ended,
        rerun=rerun,
    )


@pytest.mark.parametrize("point", some_slow)
def test_killed_and_back(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    served = Served()
    try:
        ground = Ground(tmp_path, asked(served.url, model={"max_retries": 6}))
        process = ground.start()
        answered(ground, process, draw.randint(1, 60))
        served.kill()
        time.sleep(draw.uniform(0, 1.5))
        served.start()
        ended = ground.ended(process)
        whole(
            ground,
            "model server killed, back within 1.5 s",
            table,
            undisturbed,
            ended,
            ground.records(),
        )
    finally:
        served.kill()


@pytest.mark.parametrize("point", some_slow)
def test_killed_for_good(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    served = Served()
    try:
        ground = Ground(tmp_path, asked(served.url, model={"total_timeout_s": 4}))
        process = ground.start()
        answered(ground, process, draw.randint(1, 60))
        served.kill()
        ended = ground.ended(process)
        served.start()
        kept = ended if ended == "finished" else "stopped in one line"
        whole(ground, "model server killed for good", table, undisturbed, kept, ground.records())
    finally:
        served.kill()


@pytest.mark.parametrize("point", some_slow)
def test_storms_of_refusals(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    storm = [
        draw.choice(REFUSALS) if draw.random() < 0.7 else None for _ in range(draw.randint(50, 200))
    ]
    with ChatServer(echo_expert, mishaps=storm) as server:
        ground = Ground(tmp_path, asked(server.url, model={"max_retries": draw.randint(0, 4)}))
        ended = ground.run()
        before = ground.records()
        whole(ground, "storms of 429, 500, 502, 503, 504, 529", table, undisturbed, ended, before)


@pytest.mark.parametrize("point", some_slow)
def test_half_replies(
    point: int, tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    spoilt = [
        draw.choice(HALVES) if draw.random() < 0.5 else None for _ in range(draw.randint(50, 200))
    ]
    with ChatServer(echo_expert, mishaps=spoilt) as server:
        ground = Ground(tmp_path, asked(server.url, model={"max_retries": draw.randint(0, 4)}))
        ended = ground.run()
        before = ground.records()
        whole(
            ground, "replies cut off, broken, empty, or no JSON", table, undisturbed, ended, before
        )
