"""A run as a worker's record tells it: how far it is, and how it ended."""

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from synth.engine.budget import Budget
from synth.engine.context import Run
from synth.engine.progress import Progress
from synth.engine.tally import played
from synth.engine.unfinished import unfinished_line
from synth.leases import heartbeat
from synth.leases.heartbeat import State
from synth.leases.lease import Leases
from synth.schemas.errors import SynthError
from synth.schemas.trajectory import Trajectory, Usage


@dataclass(frozen=True, slots=True)
class StartedBy:
    """The Prefect flow run that this work belongs to, and its server."""

    flow_run: str
    api: str


STARTED_BY: ContextVar[StartedBy | None] = ContextVar("STARTED_BY", default=None)


class BeatingProgress:
    """Passes on what it is told, and counts it for the worker's record."""

    def __init__(self, run: Run, leases: Leases) -> None:
        self._shown: Progress = run.progress
        self._run = run
        self.leases = leases

    def _moved(self, **changes: object) -> None:
        self.leases.tell(moved=time.time(), **changes)

    def say(self, line: str) -> None:
        """Passed on."""
        self._shown.say(line)

    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None:
        """Another stage begins."""
        self._moved(
            stage=stage,
            done=0,
            total=total,
            unit=unit,
            faults=0,
            stages_done=_stages_done(self._run),
        )
        self._shown.start(stage, total, unit, budget)

    def turned(self, usage: Usage | None) -> None:
        """A sign of life."""
        self._moved()
        self._shown.turned(usage)

    def spoke(self, usage: Usage) -> None:
        """A sign of life."""
        self._moved()
        self._shown.spoke(usage)

    def replayed(self, usage: Usage) -> None:
        """Passed on."""
        self._shown.replayed(usage)

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot was tried; `shown` counts it as a step by itself."""
        faults = sum(trajectory.fault is not None for trajectory in attempts)
        now = self.leases.tell()
        self._moved(done=now.done + played(attempts), faults=now.faults + faults)
        self._shown.advance(attempts)

    def step(self, count: int) -> None:
        """Some units are done."""
        self._moved(done=self.leases.tell().done + count)
        self._shown.step(count)

    def committed(self, count: int) -> None:
        """The stage is interrupted; what was told as done beyond `count` is done again."""
        self._moved(done=min(self.leases.tell().done, count))
        self._shown.committed(count)

    def stop(self, *, whole: bool = False) -> None:
        """The stage is over: done to its end, unless an error or a ceiling has ended it."""
        self._shown.stop(whole=whole or (sys.exception() is None and self._run.stopped is None))


@contextlib.contextmanager
def beating(run: Run) -> Iterator[None]:
    """This process is a worker of the run from here on; how it ends is the last that its record
    says.
    """
    by = STARTED_BY.get()
    leases = run.leases = Leases(
        run.ledger,
        term_s=run.flow.lease_s,
        units=run.units,
        flow=run.flow.name,
        flow_run=by.flow_run if by is not None else None,
        api=by.api if by is not None else None,
    )
    run.progress = BeatingProgress(run, leases)
    with contextlib.suppress(SynthError):
        heartbeat.remember(leases.tell().url)
    leases.holder()
    try:
        yield
    finally:
        leases.tell(stages_done=_stages_done(run))
        leases.close(*_ending(run, sys.exception()))


def _stages_done(run: Run) -> int:
    """Of the current flow, as far as this process has read the ledger."""
    state = run.ledger.state
    return sum((line.stage, line.stage_key) in state.done for line in state.stages.values())


def _ending(run: Run, error: BaseException | None) -> tuple[State, str]:
    if error is None:
        why = run.stopped or unfinished_line(run.ledger, "kept")
        return ("completed", "") if why is None else ("stopped", why)
    if isinstance(error, Exception):
        return "failed", str(error) if isinstance(
            error, SynthError
        ) else f"{type(error).__name__}: {error}"
    return "interrupted", ""
