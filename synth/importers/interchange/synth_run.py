"""Another run of synth: its trials with their tasks, so that their worlds can be opened again where
they are here too.

What a run found out about its trials (verdicts of filters, leak scans, labels of tests) is about
its own rows and does not come along; nor do the rows that need it: retries, injected runs,
continuations.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.records import (
    WHOLE,
    Entry,
    Imported,
    ImportedLabel,
    ImportSettings,
    Record,
    Rejection,
    by_record,
    one_line,
)
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.state import IMPORT, LedgerState
from synth.ledger.typed import read
from synth.schemas import SynthError, Task, Trajectory, content_hash, trajectory_id
from synth.topology.graph import BASE

NAME = "synth"
_TOGETHER = 200
"""Trajectories that are read before their tasks and labels are looked up."""


class StoredRun(msgspec.Struct):
    """A run folder: the hash of what the current flow sees in it, and the bytes of its trajectories
    and turns, of which `read` were given out so far.
    """

    name: str
    sha: str
    size: int
    ledger: StoredLedger
    read: int = 0


def is_run(folder: Path) -> bool:
    """Whether a folder is a ledger: it has the first line of a manifest."""
    return (folder / "manifest" / f"{0:08d}").is_file()


def stored_run(folder: Path, name: str) -> StoredRun | Rejection:
    """The run in a folder, as it is now; a rejection of it where its manifest is damaged."""
    try:
        ledger = StoredLedger(str(folder))
    except SynthError as error:
        return Rejection(name, WHOLE, "damaged_run", one_line(str(error)))

    state = ledger.state

    shards = [shard for part in state.visible() for shard in part if "trajectories" in shard.files]
    tables = ("trajectories", "turns")
    files = [shard.files[name] for shard in shards for name in tables if name in shard.files]
    seen = [state.run_id, [file.digest for file in files], sorted(state.superseded)]
    size = sum(file.bytes for file in files)
    return StoredRun(name, content_hash(seen), size, ledger)


def trials(run: StoredRun) -> Iterator[Entry]:
    """The base trials that the run's current flow sees, each slot's valid attempt or its last; the
    other trajectories as rejections.

    All shards are compared with their digests first, also those that nothing is read from: a
    damaged run is rejected whole.
    """
    ledger, given = run.ledger, 0

    try:
        for file in (file for shard in ledger.state.shards for file in shard.files.values()):
            ledger.files.verify(file)

        for line in lost_lines(ledger.state):
            yield Rejection(run.name, "shard", "lost_shard", one_line(line))

        lasting = _lasting(ledger.state)
        found = ledger.trajectories()

        while chunk := list(islice(found, _TOGETHER)):
            wanted = [one for one in chunk if one.trajectory_id in lasting]
            given += len(wanted)
            run.read = run.size * given // max(1, len(lasting))
            tasks = ledger.tasks({one.task_id for one in wanted})
            marks = _marks(ledger, wanted)
            for one in wanted:
                yield _trial(one, tasks.get(one.task_id), tuple(marks[one.trajectory_id]), run)
    except SynthError as error:
        yield Rejection(run.name, WHOLE, "damaged_run", one_line(str(error)))


def _lasting(state: LedgerState) -> set[str]:
    """Of every slot the valid attempt that the current flow sees, else its last invalid one."""
    valid = set(state.current_valid())
    last: dict[str, str] = {}
    for record in (record for part in state.visible() for shard in part for record in shard.slots):
        invalid = record.fault is not None and last.get(record.slot_id) not in valid
        if record.trajectory_id in valid or invalid:
            last[record.slot_id] = record.trajectory_id

    return set(last.values())


def _marks(ledger: StoredLedger, trials: list[Trajectory]) -> Mapping[str, list[ImportedLabel]]:
    """The labels that sources gave to trajectories that the run had imported itself."""
    found: dict[str, list[ImportedLabel]] = defaultdict(list)
    imported = [one.trajectory_id for one in trials if one.synthesizer == IMPORT]
    if imported:
        for row in read(ledger, dict[str, Any], subjects=imported, stage=IMPORT):
            label = ImportedLabel(row.metric, row.value, row.turn, row.about or None)
            found[row.subject_id].append(label)

    return found


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

    # its id in another run is a hash of what it is here, and not of the file that it lies in: a run
    # that has grown, or a copy of it, brings only what is new
    nowhere = replace(trial, trajectory_id="", slot_id="", attempt=0, created_at=None, source=None)
    same = content_hash(nowhere)
    slot = content_hash([IMPORT, NAME, trial.trajectory_id, same])
    found = replace(
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


def _refuse(record: Record, settings: ImportSettings) -> Rejection:
    """Runs are folders: files are none, whatever they hold."""
    return record.rejected("no_run", "a run is a folder with a manifest; name the folder")


FORMAT = by_record(lambda value: False, _refuse)
