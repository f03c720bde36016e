"""What is told of a stage that is interrupted before all that had ended was committed."""

import asyncio
import io
import signal
from pathlib import Path

import pytest

from synth.claims.workers import heartbeats
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.ledger.storage import Storage
from tests.flow_files import echo_flow


class InterruptedAt(PlainProgress):
    """Ctrl-C comes once so many units are done."""

    def __init__(self, stream: io.StringIO, unit: str, count: int) -> None:
        super().__init__(stream)
        self.left = {unit: count}

    def step(self, count: int) -> None:
        super().step(count)
        if self._unit in self.left and self._done == self.left[self._unit]:
            signal.raise_signal(signal.SIGINT)


def test_explorations_that_are_made_again_are_not_told_as_done(tmp_path: Path) -> None:
    """They learn from one another, and are committed together."""
    said, url = io.StringIO(), str(tmp_path / "run")
    flow = echo_flow(
        env={"name": "storefront", "tasks": 1},
        stages=[{"reverse_task": {"explorations": 4, "steps": 3, "shard": 2}}],
    )
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(synthesize(flow, url, InterruptedAt(said, "explorations", 3)))
    assert (
        "reverse_task: 2 explorations are committed; 1 more had ended and are done again (replies "
        "of models are kept)" in said.getvalue()
    )
    (beat,) = heartbeats(Storage(url))
    assert (beat.state, beat.stage, beat.done, beat.total) == ("interrupted", "reverse_task", 2, 4)
