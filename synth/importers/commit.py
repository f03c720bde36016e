"""Imported trajectories into a ledger, shard by shard; what is there already stays as it is."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.canonical import content_hash
from schemas.task import Task
from schemas.trajectory import Trajectory
from synth.importers.load import imported
from synth.importers.records import Rejection
from synth.ledger.ledger import Ledger, StageRef
from synth.ledger.state import IMPORT
from synth.ledger.storable import ended_line
from synth.run.progress import Progress

SHARD = 500


@dataclass(slots=True)
class ImportTally:
    """What came in by format and outcome, what was rejected, what was present."""

    formats: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rejections: list[Rejection] = field(default_factory=list)
    benchmarks: set[str] = field(default_factory=set)
    present: int = 0

    def add(self, trajectory: Trajectory) -> None:
        """Counts one trajectory that came in."""
        name = (trajectory.source or "unknown").split(":", 1)[0]
        turns = trajectory.turns
        self.formats[name].update(trajectories=1, turns=len(turns), tool_calls=sum(len(turn.tool_calls) for turn in turns))
        self.outcomes[name][trajectory.outcome] += 1
        if trajectory.benchmark is not None:
            self.benchmarks.add(trajectory.benchmark)


def import_into(run: str, sources: Sequence[Path], form: str, progress: Progress) -> ImportTally:
    """Reads sources into a run directory (made where there is none). Raises `ConfigError` before anything is made."""
    found = imported(sources, format=form)
    ledger = Ledger(run, create=True)
    tally = ImportTally()
    tasks: dict[str, Task] = {}
    shard: list[Trajectory] = []
    progress.start("import", 0, "trajectories")
    try:
        for item in found:
            if isinstance(item, Rejection):
                tally.rejections.append(item)
                continue
            if item.trajectory.slot_id in ledger.state.slots:
                tally.present += 1
                continue
            tasks[item.task.task_id] = item.task
            shard.append(item.trajectory)
            if len(shard) == SHARD:
                _commit(ledger, shard, tasks, tally, progress)
        _commit(ledger, shard, tasks, tally, progress)
    finally:
        progress.stop()
    return tally


def _commit(ledger: Ledger, shard: list[Trajectory], tasks: dict[str, Task], tally: ImportTally, progress: Progress) -> None:
    """One shard of an import; its key is the hash of what it holds."""
    if not shard:
        return
    ref = StageRef(IMPORT, content_hash([trajectory.slot_id for trajectory in shard]))
    ended = {trajectory.slot_id: trajectory for trajectory in ledger.commit(ref, trajectories=shard, tasks=list(tasks.values()))}
    for trajectory in ended.values():
        progress.say(ended_line(trajectory))
    for trajectory in shard:
        tally.add(ended.get(trajectory.slot_id, trajectory))
    progress.step(len(shard))
    shard.clear()
    tasks.clear()
