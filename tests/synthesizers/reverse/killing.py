"""A run of a flow in a process of its own that kills itself in the middle of a stage."""

import os
import subprocess
import sys
from pathlib import Path

from synth.schemas.flow import Flow

ROOT = Path(__file__).resolve().parents[3]
_KILLED = """
import os, signal, sys
from io import StringIO
import asyncio
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow
from synth.engine.progress import PlainProgress


class Kills(PlainProgress):
    steps = 0

    def step(self, count):
        self.steps += 1
        if self.steps == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(synthesize(Flow.model_validate_json(sys.argv[1]), sys.argv[2], Kills(StringIO()), None))
"""


def killed_at_step(step: int, flow: Flow, url: str) -> None:
    """Runs the flow until its progress has been told of so many steps."""
    process = subprocess.run(
        [sys.executable, "-c", _KILLED, flow.model_dump_json(), url, str(step)],
        cwd=ROOT,
        env=os.environ,
        check=False,
    )
    assert process.returncode == -9
