"""A run as a worker's record tells it: how far it is, and how it ended. `STATE/runs/` names the
runs that this machine has worked on.
"""

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import asdict, dataclass

import msgspec

from synth.claims.claims import Leases
from synth.claims.workers import State, heartbeats
from synth.engine.context import Run
from synth.engine.runs.unfinished import unfinished_line
from synth.ledger.storage import Storage
from synth.ledger.storage.journal import state_folder
from synth.schemas import SynthError, content_hash


@dataclass(frozen=True, slots=True)
class StartedBy:
    """The Prefect flow run that this work belongs to, and its server."""

    flow_run: str
    api: str


RUNS = "runs"
"""The folder of the state folder that names the runs of this machine."""
STARTED_BY: ContextVar[StartedBy | None] = ContextVar("STARTED_BY", default=None)


@contextlib.contextmanager
def beating(run: Run) -> Iterator[None]:
    """This process is a worker of the run from here on; how it ends is the last that its record
    says.
    """
    by = STARTED_BY.get()
    started_by = {} if by is None else asdict(by)
    leases = run.leases = Leases(
        run.ledger,
        term_s=run.flow.lease_s,
        units=run.units,
        told=lambda: {**run.progress.record(), "stages_done": _stages_done(run)},
        flow=run.flow.name,
        **started_by,
    )
    with contextlib.suppress(SynthError):
        remember(leases.tell().url)
    leases.holder()

    try:
        yield
    finally:
        leases.close(*_ending(run, sys.exception()))


def _stages_done(run: Run) -> int:
    """Of the current flow, as far as this process has read the ledger."""
    state = run.ledger.state
    return sum((line.stage, line.stage_key) in state.done for line in list(state.stages.values()))


def _ending(run: Run, error: BaseException | None) -> tuple[State, str]:
    """What a worker's record says last: how it ended, and why."""
    match error:
        case None:
            why = run.stopped or unfinished_line(run.ledger, "kept")
            return ("completed", "") if why is None else ("stopped", why)
        case SynthError():
            return "failed", str(error)
        case Exception():
            return "failed", f"{type(error).__name__}: {error}"
        case _:
            return "interrupted", ""


def remember(url: str) -> None:
    """Lets `synth status` on this machine find the run. Raises `SynthError`."""
    state, name = Storage(str(state_folder())), f"{RUNS}/{content_hash(url)[:32]}.json"
    if state.size(name) is None:
        state.replace(name, msgspec.json.encode(url))


def remembered() -> list[str]:
    """The runs that this machine has worked on, by name."""
    found = []
    for path in (state_folder() / RUNS).glob("*.json"):
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            found.append(msgspec.json.decode(path.read_bytes(), type=str))
    return sorted(found)


class Underway(msgspec.Struct, frozen=True):
    """The stage that the workers of a run are at, and how far they are together."""

    stage: str
    workers: int
    done: int
    total: int
    unit: str
    faults: int

    @property
    def line(self) -> str:
        """For instance: rollout: 41 of 80 episodes, 0 faults."""
        return f"{self.stage}: {self.done:,} of {self.total:,} {self.unit}, {self.faults:,} faults"


def under_way(storage: Storage, since: float) -> Underway | None:
    """By the records that changed after `since`; None where none is at a stage."""
    late = [beat for beat in heartbeats(storage) if beat.beat >= since and beat.total]
    last = max(late, key=lambda beat: beat.moved, default=None)
    if last is None:
        return None

    at_it = [beat for beat in late if beat.stage == last.stage]
    total = max(beat.total for beat in at_it)
    done, faults = sum(beat.done for beat in at_it), sum(beat.faults for beat in at_it)
    alive = sum(beat.state == "running" for beat in at_it)

    return Underway(last.stage, alive, min(done, total), total, last.unit, faults)
