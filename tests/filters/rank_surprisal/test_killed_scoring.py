"""A process that is killed while it scores: what it had kept is not scored again, and nothing is
missing after the same command.
"""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from synth.engine.runs.measure_cache import KEPT_EVERY
from synth.ledger.ledger import StoredLedger
from tests.filters.rank_surprisal.test_served_student import flow, ledger, measures
from tests.flow_files import SYNTH
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.slow
TRAJECTORIES = 260


class SlowToScore(ChatServer):
    """Takes 10 ms for each text."""

    async def _score(self, request: web.Request) -> web.Response:
        await asyncio.sleep(0.01)
        return await super()._score(request)


def test_killed_in_the_middle_of_scoring_and_run_again_scores_nothing_twice_that_was_kept(
    tmp_path: Path,
) -> None:
    url = ledger(tmp_path, TRAJECTORIES)
    with SlowToScore() as server:
        path = tmp_path / "rank.yaml"
        path.write_text(yaml.safe_dump(flow(server).model_dump(mode="json", exclude_defaults=True)))
        command = [*SYNTH, "curate", url, str(path)]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            ends = time.monotonic() + 120
            while (
                server.scored < KEPT_EVERY + 40
                and time.monotonic() < ends
                and process.poll() is None
            ):
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.5)  # what the server has in hand is counted too
        scored, kept = server.scored, set(measures(url, "rsr"))
        assert len(kept) == KEPT_EVERY
        assert KEPT_EVERY + 40 <= scored < TRAJECTORIES
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert server.scored - scored == TRAJECTORIES - len(kept)
    found = measures(url, "rsr")
    assert found.keys() >= kept
    assert len(found) == TRAJECTORIES == len(StoredLedger(url).state.current_valid())
