"""Killed while kept retries are measured, and run again: the same tags, and no reply that was
written down is asked for again.
"""

import contextlib
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.flows.test_killed import start, write
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.test_likelihood_and_policy import scored, seeded_flow, wavering

pytestmark = pytest.mark.slow
IN_FLIGHT = 2


def narrow(url: str) -> Flow:
    """Each role has so many questions under way at most."""
    flow = seeded_flow(url)
    return flow.model_copy(
        update={
            "models": {
                name: {**role, "max_in_flight": IN_FLIGHT} for name, role in flow.models.items()
            }
        }
    )


def asked(ledger_url: str, server: ChatServer, share: float, whole: int, folder: Path) -> bool:
    """Kills the run once so much of all that is to be asked was asked; False where it was over
    before.
    """
    flow_file = write(narrow(server.url), folder / "flow.yaml")
    process = start(flow_file, ledger_url, SYNTH_STATE_DIR=str(folder / "state"))
    deadline = time.monotonic() + 60
    try:
        while process.poll() is None:
            if server.counts()["total"] >= share * whole:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return True
            assert time.monotonic() < deadline, "the run neither asks nor ends"
            time.sleep(0.0005)
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_sigkill_among_the_samples_of_the_unguided_policy_costs_what_was_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(wavering) as server:
        run, _, _ = run_flow(narrow(server.url), str(tmp_path / "whole"))
        once = Counter(server.counts()["by_hash"])
    whole, expected = sum(once.values()), scored(run.ledger, "off_policy_pivot")
    samples = sum(detail["samples"] for *_, detail in expected)
    assert samples > 8
    for point in (0.3, 0.8):
        share = 1 - (1 - point) * samples / whole
        folder = tmp_path / str(point)
        folder.mkdir()
        with ChatServer(wavering, latency_s=0.005) as server:
            assert asked(str(folder / "run"), server, share, whole, folder)
            monkeypatch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
            run, _, _ = run_flow(narrow(server.url), str(folder / "run"))
            again = Counter(server.counts()["by_hash"]) - once
        assert scored(run.ledger, "off_policy_pivot") == expected
        assert set(server.counts()["by_hash"]) == set(once)
        assert sum(again.values()) <= 2 * IN_FLIGHT, again
