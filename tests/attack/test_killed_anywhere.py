"""kill -9 at twenty moments of one run against a chat server: nothing is lost, nothing is paid for
twice beyond the calls in flight.
"""

import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
from aiohttp import web

from synth.schemas.flow import Flow
from tests.attack.test_hostile_server import brain
from tests.chaos.ground import Ground, kill
from tests.chaos.holding import held, rows, twice
from tests.flow_files import SYNTH
from tests.synth.models.chat_brains import messages_hash
from tests.synth.models.chat_server import ChatServer, Mishap

KILLS, WHILE_ASKING = 20, 13
IN_FLIGHT = 4
ON_THE_WAY_S = 0.05
PATIENCE_S = 20.0


def flow(url: str) -> Flow:
    """Trials, retries, filters and every kind of rows, by a model whose reply is a function of the
    request.
    """
    model = {
        "engine": "vllm",
        "model": "test-model",
        "base_url": url,
        "timeout_s": 5,
        "max_in_flight": IN_FLIGHT,
        "token_ids": False,
    }
    stages = [
        {"rollout": {"trials": 3, "shard": 6, "live": 6}},
        {"reflect_retry": {"likelihood": False, "off_policy_samples": 0}},
        {"filter": ["solved", "signals", "reexecuted"]},
        {"export": {"kinds": ["sft", "kto", "rl"]}},
    ]
    env = {"name": "echo", "tasks": 8, "turns": 3}
    return Flow.model_validate(
        {"name": "killed", "seed": 3, "env": env, "models": {"explorer": model}, "stages": stages}
    )


def files(url: str) -> dict[str, bytes]:
    """Every file of the datasets by its place."""
    folder = Path(url, "datasets")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def table_rows(url: str) -> dict[str, list[str]]:
    """Every row of the datasets, ids and all."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path(url, "datasets").rglob("*.parquet")):
        found[path.parent.name] = [
            json.dumps(row, default=str, sort_keys=True) for row in pq.read_table(path).to_pylist()
        ]
    return found


class Paid(ChatServer):
    """The server, which remembers when each request came and was answered."""

    def __init__(self, **how: Any) -> None:
        super().__init__(brain, latency_s=0.02, **how)
        self.spans: list[list[Any]] = []

    async def _answer(
        self, request: web.Request, body: dict[str, Any], mishap: Mishap
    ) -> web.StreamResponse:
        span = [messages_hash(body), time.monotonic() - self.latency_s, None]
        self.spans.append(span)
        try:
            return await super()._answer(request, body, mishap)
        finally:
            span[2] = time.monotonic()

    def in_flight_at(self, moment: float) -> Counter[str]:
        """Requests under way then, or answered so shortly before that the answer may still have
        been.
        """
        return Counter(
            asked
            for asked, came, answered in self.spans
            if moment <= (answered or moment) + ON_THE_WAY_S
        )


def killed(
    ground: Ground, server: Paid, calls: int | None, wait_s: float
) -> tuple[bool, Counter[str]]:
    """Starts the run, and kills it once so many calls are answered (or at once) and the wait is
    over: whether it still ran, and what
    was in flight.
    """
    process = ground.start()
    ends = time.monotonic() + PATIENCE_S
    while (
        calls is not None
        and server.counts()["answered"] < calls
        and process.poll() is None
        and time.monotonic() < ends
    ):
        time.sleep(0.002)
    time.sleep(wait_s)
    running = process.poll() is None
    moment = time.monotonic()
    kill(process)
    time.sleep(2 * server.latency_s)
    return running, server.in_flight_at(moment)


def test_a_run_that_is_killed_twenty_times_ends_as_one_that_nobody_disturbed(
    tmp_path: Path,
) -> None:
    draw = Random("twenty kills")
    with Paid() as server:
        calm = Ground(tmp_path / "calm", flow(server.url))
        began = time.monotonic()
        assert calm.run() == "finished"
        ended, port = time.monotonic(), server.port
        paid = Counter(server.counts()["by_hash"])
        first, last = server.spans[0][1] - began, ended - server.spans[-1][2]
    with Paid(port=port) as server:
        ground = Ground(tmp_path / "killed", flow(server.url))
        before, lost, met, in_flight = held(ground.url), 0, 0, Counter[str]()
        while_asking = [
            (round(draw.uniform(0.02, 0.98) * paid.total()), draw.uniform(0, 0.03))
            for _ in range(WHILE_ASKING)
        ]
        afterwards = [
            (None, first + draw.uniform(0.2, 1) * last) for _ in range(KILLS - WHILE_ASKING)
        ]
        for calls, wait_s in [*sorted(while_asking), *sorted(afterwards)]:
            running, asked = killed(ground, server, calls, wait_s)
            met, in_flight = met + running, in_flight + asked
            now = held(ground.url)
            lost, before = lost + before.lost(now), now
        assert met >= WHILE_ASKING, f"only {met} of {KILLS} kills met a run that was still going"
        assert ground.run() == "finished"
        counts = Counter(server.counts()["by_hash"])
    assert (lost, before.lost(held(ground.url)), twice(ground.url)) == (0, 0, 0)
    assert rows(ground.url) == rows(calm.url)
    assert counts.keys() == paid.keys()
    again = {
        asked: n - paid[asked] for asked, n in counts.items() if n > paid[asked] + in_flight[asked]
    }
    assert again == {}, "asked again without having been in flight at a kill"
    assert 0 < counts.total() - paid.total() <= met * IN_FLIGHT
    assert table_rows(ground.url) == table_rows(calm.url)
    assert files(ground.url) == files(calm.url)
    verified = subprocess.run(
        [*SYNTH, "verify", ground.url], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
