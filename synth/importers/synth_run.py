"""Another run of synth: its trials with their tasks, so that their worlds can be opened again where
they are here too.

What a run found out about its trials (verdicts of filters, leak scans, labels of tests) is about
its own rows and does not come along; nor do the rows that need it: retries, injected runs,
continuations.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from synth.importers.records import (
    WHOLE,
    Entry,
    Format,
    Imported,
    ImportedLabel,
    ImportSettings,
    Record,
    Rejection,
    one_line,
)
from synth.ledger.ledger import Ledger
from synth.ledger.log.state import IMPORT, LedgerState
from synth.ledger.typed import read
from synth.schemas.canonical import content_hash
from synth.schemas.errors import SynthError
from synth.schemas.identity import trajectory_id
from synth.schemas.printable import printable
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.topology.graph import BASE

NAME = "synth"
_TOGETHER = 200


class StoredRun(msgspec.Struct, frozen=True):
    """A run folder: the hash of what the current flow sees in it, and the bytes of its trajectories
    and turns.
    """

    name: str
    sha: str
    size: int
    trials: int
    meter: list[int] = msgspec.field(default_factory=lambda: [0])
    """Trajectories read so far."""

    def share_read(self) -> float:
        """How many of the trajectories have been read, 0..1."""
        return self.meter[0] / max(1, self.trials)


def is_run(folder: Path) -> bool:
    """Whether a folder is a ledger: it has the first line of a manifest."""
    return (folder / "manifest" / f"{0:08d}").is_file()


def stored_run(folder: Path, name: str) -> StoredRun | Rejection:
    """The run in a folder, as it is now; a rejection of it where its manifest is damaged."""
    try:
        ledger = Ledger(str(folder))
    except SynthError as error:
        return Rejection(name, WHOLE, "damaged_run", one_line(str(error)))
    shards = [
        shard for part in ledger.state.visible() for shard in part if "trajectories" in shard.files
    ]
    files = [
        shard.files[table]
        for shard in shards
        for table in ("trajectories", "turns")
        if table in shard.files
    ]
    sha = content_hash(
        [ledger.state.run_id, [file.digest for file in files], sorted(ledger.state.superseded)]
    )
    return StoredRun(
        printable(name),
        sha,
        sum(file.bytes for file in files),
        sum(len(shard.slots) for shard in shards),
    )


def trials(folder: Path, run: StoredRun) -> Iterator[Entry]:
    """The base trials that the run's current flow sees, each slot's valid attempt or its last; the
    other trajectories as rejections.

    All shards are compared with their digests first, also those that nothing is read from: a
    damaged run is rejected whole.
    """
    try:
        ledger = Ledger(str(folder))
        for file in (file for shard in ledger.state.shards for file in shard.files.values()):
            ledger.files.verify(file)
        yield from (
            Rejection(run.name, "shard", "lost_shard", one_line(line)) for line in ledger.state.lost
        )
        lasting = _lasting(ledger.state)
        found = ledger.trajectories()
        while chunk := list(islice(found, _TOGETHER)):
            run.meter[0] += len(chunk)
            wanted = [one for one in chunk if one.trajectory_id in lasting]
            tasks = ledger.tasks({one.task_id for one in wanted})
            marks = _marks(
                ledger, [one.trajectory_id for one in wanted if one.synthesizer == IMPORT]
            )
            for one in wanted:
                yield _trial(one, tasks.get(one.task_id), marks.get(one.trajectory_id, ()), run)
    except SynthError as error:
        yield Rejection(run.name, WHOLE, "damaged_run", one_line(str(error)))


def _lasting(state: LedgerState) -> set[str]:
    """Of every slot the valid attempt that the current flow sees, else its last invalid one."""
    valid = set(state.current_valid())
    last: dict[str, str] = {}
    whole, partly = state.visible()
    for record in (record for shard in (*whole, *partly) for record in shard.slots):
        if record.trajectory_id in valid or (
            record.fault is not None and last.get(record.slot_id) not in valid
        ):
            last[record.slot_id] = record.trajectory_id
    return set(last.values())


def _trial(
    trial: Trajectory, task: Task | None, marks: tuple[ImportedLabel, ...], run: StoredRun
) -> Imported | Rejection:
    """The same trial as data: its policy, model, sampling and authors are told as they were; its
    role was another flow's.
    """
    if trial.synthesizer not in BASE or trial.parent_id is not None or trial.guidance is not None:
        detail = "stays with the run that judged it"
        return Rejection(run.name, trial.trajectory_id, f"no_trial:{trial.synthesizer}", detail)
    if task is None:
        return Rejection(run.name, trial.trajectory_id, "no_task", "the run does not hold its task")
    same = content_hash(
        msgspec.structs.replace(
            trial, trajectory_id="", slot_id="", attempt=0, created_at=None, source=None
        )
    )
    slot = content_hash([IMPORT, NAME, trial.trajectory_id, same])
    found = msgspec.structs.replace(
        trial,
        trajectory_id=trajectory_id(slot, 0),
        slot_id=slot,
        attempt=0,
        synthesizer=IMPORT,
        role=None,
        source=f"{NAME}:{run.sha}:{trial.trajectory_id}:{run.name}",
        content_hash=trial.content_hash or same,
        benchmark=trial.benchmark or task.benchmark,
        split=trial.split or task.split,
    )
    return Imported(task, found, marks)


def _marks(ledger: Ledger, identities: list[str]) -> Mapping[str, tuple[ImportedLabel, ...]]:
    """The labels that sources gave to trajectories that the run had imported itself."""
    found: dict[str, tuple[ImportedLabel, ...]] = {}
    given = read(ledger, dict[str, Any], subjects=identities, stage=IMPORT) if identities else ()
    for row in given:
        mark = ImportedLabel(row.metric, row.value, row.turn, row.about or None)
        found[row.subject_id] = (*found.get(row.subject_id, ()), mark)
    return found


def _records(records: Iterable[Record | Rejection], settings: ImportSettings) -> Iterator[Entry]:
    """Runs are folders: files are none, whatever they hold."""
    for record in records:
        yield (
            record
            if isinstance(record, Rejection)
            else record.rejected("no_run", "a run is a folder with a manifest; name the folder")
        )


def _never(value: Any) -> bool:
    return False


FORMAT = Format(_never, _records)
