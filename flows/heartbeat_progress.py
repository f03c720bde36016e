"""Tells a run's heartbeat how far it is, and writes it down every few seconds, from a thread: a
busy event loop is no dead process.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

import msgspec

from synth.engine.budget import Budget
from synth.engine.context import Run
from synth.engine.progress import Progress
from synth.engine.tally import played
from synth.engine.unfinished import unfinished_line
from synth.flows import heartbeat
from synth.flows.heartbeat import Heartbeat, State
from synth.ledger.storage import Storage
from synth.schemas.errors import SynthError
from synth.schemas.trajectory import Trajectory, Usage


@dataclass(frozen=True, slots=True)
class StartedBy:
    """The Prefect flow run that this work belongs to, and its server."""

    flow_run: str
    api: str


STARTED_BY: ContextVar[StartedBy | None] = ContextVar("STARTED_BY", default=None)


class BeatingProgress:
    """Passes on what it is told, and counts it for the heartbeat."""

    def __init__(
        self,
        shown: Progress,
        first: Heartbeat,
        stages_done: Callable[[], int],
        was_stopped: Callable[[], bool],
    ) -> None:
        self._shown = shown
        self._stages_done = stages_done
        self._was_stopped = was_stopped
        self._lock = threading.Lock()
        self._beat = first

    def now(self, **changes: object) -> Heartbeat:
        """The record as of now."""
        with self._lock:
            self._beat = msgspec.structs.replace(self._beat, beat=time.time(), **changes)
            return self._beat

    def _moved(self, **changes: object) -> None:
        with self._lock:
            self._beat = msgspec.structs.replace(self._beat, moved=time.time(), **changes)

    def say(self, line: str) -> None:
        """Passed on."""
        self._shown.say(line)

    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None:
        """Another stage begins."""
        self._moved(
            stage=stage, done=0, total=total, unit=unit, faults=0, stages_done=self._stages_done()
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
        self._moved(done=self._beat.done + played(attempts), faults=self._beat.faults + faults)
        self._shown.advance(attempts)

    def step(self, count: int) -> None:
        """Some units are done."""
        self._moved(done=self._beat.done + count)
        self._shown.step(count)

    def committed(self, count: int) -> None:
        """The stage is interrupted; what was told as done beyond `count` is done again."""
        self._moved(done=min(self._beat.done, count))
        self._shown.committed(count)

    def stop(self, *, whole: bool = False) -> None:
        """The stage is over: done to its end, unless an error or a ceiling has ended it."""
        self._shown.stop(whole=whole or (sys.exception() is None and not self._was_stopped()))


@contextlib.contextmanager
def beating(run: Run) -> Iterator[None]:
    """The run gives signs of life from here on; how it ends is its last."""
    storage, by = run.ledger.storage, STARTED_BY.get()
    first = heartbeat.of_this_process(
        run.flow.name,
        storage,
        identity=by.flow_run if by is not None else None,
        flow_run=by.flow_run if by is not None else None,
        api=by.api if by is not None else None,
    )
    told = run.progress = BeatingProgress(
        run.progress, first, lambda: _stages_done(run), lambda: run.stopped is not None
    )
    with contextlib.suppress(SynthError):
        heartbeat.remember(first.url)
    _try_to_write(storage, first)
    over = threading.Event()
    beats = threading.Thread(
        target=_beat, args=(storage, told, first.every_s, over), name="heartbeat", daemon=True
    )
    beats.start()
    try:
        yield
    finally:
        over.set()
        beats.join()
        state, message = _ending(run, sys.exception())
        _try_to_write(
            storage, told.now(state=state, message=message, stages_done=_stages_done(run))
        )


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


def _beat(storage: Storage, told: BeatingProgress, every_s: float, over: threading.Event) -> None:
    while not over.wait(every_s):
        _try_to_write(storage, told.now())


def _try_to_write(storage: Storage, beat: Heartbeat) -> None:
    """A heartbeat that cannot be written (a full disk, a store that does not answer) stops no
    run.
    """
    with contextlib.suppress(SynthError, OSError, RuntimeError):
        heartbeat.write(storage, beat)
