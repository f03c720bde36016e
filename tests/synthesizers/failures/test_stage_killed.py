"""Killed in the middle of a round and run again: the same labels."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.synthesizers.failures.flows_of_failures import (
    WAVERING,
    injected,
    injection_flow,
    scores,
)
from tests.synthesizers.failures.test_stage import SHOP

pytestmark = pytest.mark.slow


ROOT = Path(__file__).resolve().parents[3]


KILLED = """
import asyncio, os, signal, sys
from io import StringIO
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow
from synth.engine.progress import PlainProgress


class Kills(PlainProgress):
    steps = 0

    def start(self, stage, *more):
        super().start(stage, *more)
        self.steps = -1000 if stage != "failure_injection" else 0

    def step(self, count):
        self.steps += count
        if self.steps >= 6:
            os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(synthesize(Flow.model_validate_json(sys.argv[1]), sys.argv[2], Kills(StringIO()), None))
"""


def labels(folder: Path) -> list[Any]:
    metrics = ("injection", "recovery", "injection_attempt")
    return [
        (metric, row["subject_id"], row["turn"], row["value"], row["detail"])
        for metric in metrics
        for row in scores(folder, metric)
    ]


def test_killed_in_the_middle_of_a_round_and_run_again_it_gives_the_same_labels(
    tmp_path: Path,
) -> None:
    flow = injection_flow(
        {"per_task": 4, "round": 4}, {"trials": 3}, env=SHOP, models={"explorer": WAVERING}
    )
    url = tmp_path / "killed"
    process = subprocess.run(
        [sys.executable, "-c", KILLED, flow.model_dump_json(), str(url)],
        cwd=ROOT,
        env=os.environ,
        check=False,
    )
    assert process.returncode == -9
    assert len({row["detail"]["round"] for row in scores(url, "injection_attempt")}) == 1, (
        "one round was committed, the second was under way"
    )
    injected(url, flow)
    injected(tmp_path / "whole", flow)
    assert labels(url) == labels(tmp_path / "whole")
