"""One run directory: commits whole shards, keeps what is settled, and reads it back shard by
shard.
"""

import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.ledger import manifest, rows
from synth.ledger.cursor import Cursor
from synth.ledger.fencing import FENCE, refuse_fenced
from synth.ledger.graph_rows import Edge, Node
from synth.ledger.journal import state_folder
from synth.ledger.manifest import (
    DoneLine,
    FenceLine,
    FlowLine,
    RunLine,
    ShardLine,
    SlotRecord,
    StageLine,
    StoredFile,
    WrittenLine,
    paths,
)
from synth.ledger.presence import Presence
from synth.ledger.role_reply import RoleReply
from synth.ledger.shard_files import ShardFiles
from synth.ledger.state import LedgerState
from synth.ledger.storable import storable_shard
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError
from synth.schemas.identity import trajectory_id
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

_LIGHT = """
    trajectory_id task_id synthesizer model stage attempt outcome fault termination authorship
    benchmark prompt_tokens completion_tokens cached_tokens model_calls cost_usd n_turns
    n_tool_calls fault_detail
"""
LIGHT = _LIGHT.split()
"""Columns of a trajectory that are no longer than a line."""
PATIENCE = 50
"""Looks, a tenth of a second apart, at a line that another writer has taken."""


class StageRef(msgspec.Struct, frozen=True):
    """Which stage wrote a row, under which key."""

    stage: str
    stage_key: str


class Score(msgspec.Struct, frozen=True):
    """A number about a trajectory or one of its turns; `detail`, a struct, says what stands behind
    it, and is read through `synth.ledger.typed`. A mapping is for people alone.
    """

    subject_id: str
    metric: str
    value: float | None
    turn: int | None = None
    detail: msgspec.Struct | Mapping[str, Any] | None = None


class Decision(msgspec.Struct, frozen=True):
    """A filter's verdict on a trajectory."""

    trajectory_id: str
    filter: str
    keep: bool | None
    reason: str
    score: float | None = None
    detail: Mapping[str, Any] | None = None


class Ledger:
    """A run directory, open. `state` is what the manifest said when it was last read (`refresh`).

    With `may_be_empty` nothing is written before the first commit, which is then one of
    `synth.ledger.importing`.
    """

    def __init__(self, url: str, *, create: bool = False, may_be_empty: bool = False) -> None:
        self.storage = Storage(url)
        self.state = LedgerState()
        self.files = ShardFiles(self.storage)
        self._tasks_in: dict[str, frozenset[str]] = {}
        self._cursor = Cursor(self.storage, mends=create)
        self.refresh()
        if not self.state.lines and not may_be_empty:
            if not create:
                raise ConfigError(
                    f"{url}: holds no run; `synth run FLOW.yaml --run-dir {url}` or `synth import "
                    f"SRC --into {url}` makes one"
                )
            self.append(RunLine(uuid.uuid4().hex))
            self.refresh()

    @property
    def journal_folder(self) -> Path:
        """Where this run's journals lie on this machine."""
        return state_folder() / "journal" / self.state.run_id

    def refresh(self) -> LedgerState:
        """Reads the manifest lines written since the last look. Raises `DamagedError` where one is
        damaged or missing.

        Only as the run is opened are the shards' files looked for: those that others commit while
        it is open were just written.
        """
        presence = None if self._cursor.opened else Presence(self.storage)
        while lines := self._cursor.ahead(self.state.lines):
            for line in lines:
                self.state.fold(line, presence.missing(paths(line)) if presence is not None else {})
        return self.state

    def begin_flow(self, flow: Mapping[str, Any], stages: Sequence[StageLine] = ()) -> None:
        """Makes a flow the current one, with the `stages` that it takes over; the others follow
        through `begin_stage`.
        """
        self._append(lambda: FlowLine(flow, tuple(stages)) if self.state.flow != flow else None)

    def begin_stage(self, line: StageLine) -> None:
        """Makes a stage's key the current one."""
        self._append(lambda: line if self.state.stages.get(line.stage) != line else None)

    def finish_stage(self, ref: StageRef, report: Mapping[str, Any]) -> None:
        """Records that a stage ran to its end."""
        key = (ref.stage, ref.stage_key)
        self._append(
            lambda: (
                DoneLine(ref.stage, ref.stage_key, report)
                if self.state.done.get(key) != report
                else None
            )
        )

    def name_written(self, line: WrittenLine) -> None:
        """Names files beside the tables that are about to stand; nothing is added where the
        manifest says so already.
        """
        self._append(lambda: None if self.state.names(line) else line)

    def fence(self, work: str, token: int, holder: str) -> bool:
        """Takes a piece of work under `token` from whoever holds it under a smaller one; False
        where another writer was first.
        """
        return self._append(
            lambda: (
                FenceLine(work, token, holder) if self.state.fences.get(work, 0) < token else None
            )
        )

    def commit(
        self,
        ref: StageRef,
        *,
        trajectories: Sequence[Trajectory] = (),
        tasks: Sequence[Task] = (),
        decisions: Sequence[Decision] = (),
        scores: Sequence[Score] = (),
        replies: Sequence[RoleReply] = (),
        nodes: Sequence[Node] = (),
        edges: Sequence[Edge] = (),
        name: str = "",
    ) -> list[Trajectory]:
        """Commits a shard, whole or not at all; the first commit of a slot wins, later ones are
        kept as further attempts.

        A trajectory with a value that cannot be held is committed as an invalid attempt; those are
        returned (see `ended_line`).
        `name` marks the piece of work as done in `state.named`. Raises `SynthError` for any other
        record that cannot be held, and
        `FencedError` where the work of the current task (`synth.ledger.fencing`) was taken over by
        another worker.
        """
        records: dict[str, Sequence[msgspec.Struct]] = {
            **{"decisions": decisions, "scores": scores, "replies": replies},
            **{"nodes": nodes, "edges": edges},
        }
        while True:
            refuse_fenced(self.refresh().fences)
            line, kept, ended = self.write_shard(ref, trajectories, tasks, records, name)
            while not self.append(line):
                self._after_another()
                if (
                    FENCE.get() in self.state.fences
                    or kept != self._renumbered(kept)
                    or any(
                        self.state.settled(t.slot_id)
                        for t in kept
                        if t.trajectory_id not in line.superseded
                    )
                ):
                    break
            else:
                self.refresh()
                return ended
            for file in line.files.values():
                self.storage.discard(file.path)

    def write_shard(
        self,
        ref: StageRef,
        trajectories: Sequence[Trajectory],
        tasks: Sequence[Task],
        records: Mapping[str, Sequence[msgspec.Struct]],
        name: str = "",
    ) -> tuple[ShardLine, Sequence[Trajectory], list[Trajectory]]:
        """Writes a shard's files, `records` by table, uncommitted: until a line of the manifest
        names them they are part of nothing.

        Also returns the trajectories as they were written, and those of them that became invalid
        for it.
        """
        given = self._renumbered(trajectories)
        kept, tables, ended = storable_shard(ref.stage, ref.stage_key, given, tasks, records)
        line = ShardLine(
            stage=ref.stage,
            stage_key=ref.stage_key,
            files=self.files.write(tables),
            slots=tuple(SlotRecord(t.slot_id, t.attempt, t.trajectory_id, t.fault) for t in kept),
            superseded=tuple(
                t.trajectory_id
                for t in kept
                if t.outcome is not Outcome.INVALID and self.state.settled(t.slot_id)
            ),
            name=name,
        )
        return line, kept, ended

    def trajectories(
        self, wanted: set[str] | None = None, *, every: bool = False
    ) -> Iterator[Trajectory]:
        """The current flow's trajectories, or those of `every` flow that ran here; all attempts,
        one shard in memory at a time.
        """
        for shard, slots in self.state.seen(every=every):
            ids = [r.trajectory_id for r in slots if wanted is None or r.trajectory_id in wanted]
            if ids and "trajectories" in shard.files:
                yield from self._read_shard(shard, ids)

    def records(self, stages: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Rows of the current flow's trajectories without the heavy columns, of all stages or of
        those named.
        """
        for shard, slots in self.state.seen():
            if "trajectories" in shard.files and (stages is None or shard.stage in stages):
                seen = {record.trajectory_id for record in slots}
                blob = self.files.read(shard.files["trajectories"])
                for row in pq.read_table(pa.BufferReader(blob), columns=LIGHT).to_pylist():
                    if row["trajectory_id"] in seen:
                        yield row

    def trajectory(self, identity: str) -> Trajectory:
        """One trajectory by id or unique beginning of one, of any flow that ran here. Raises
        `ConfigError`.
        """
        found = {
            r.trajectory_id: s
            for s in self.state.shards
            for r in s.slots
            if r.trajectory_id.startswith(identity)
        }
        if len(found) != 1:
            problem = (
                "names no trajectory" if not found else f"is the beginning of {len(found)} ids"
            )
            raise ConfigError(
                f"{identity!r} {problem} in {self.storage.url}; list them with: synth sql RUN "
                "'SELECT trajectory_id FROM trajectories'"
            )
        ((whole_id, shard),) = found.items()
        return next(self._read_shard(shard, [whole_id]))

    def task_ids(self) -> dict[str, str]:
        """The current flow's tasks: id -> environment."""
        tables = (self.files.table(file) for file in self._task_files(every=False))
        columns = (table.select(["task_id", "env"]).to_pylist() for table in tables)
        return {row["task_id"]: row["env"] for found in columns for row in found}

    def tasks(self, wanted: Collection[str], *, every: bool = False) -> dict[str, Task]:
        """The wanted tasks by id, as far as the current flow has them, or any flow that ran here.

        Which tasks a file holds is remembered: files without any that is wanted are read once.
        """
        found: dict[str, Task] = {}
        for file in self._task_files(every=every):
            held = self._tasks_in.get(file.path)
            if held is not None and held.isdisjoint(wanted):
                continue
            table = self.files.table(file)
            if held is None:
                held = self._tasks_in[file.path] = frozenset(table["task_id"].to_pylist())
            ids = pa.array(sorted(held.intersection(wanted)), pa.string())
            for row in table.filter(pc.is_in(table["task_id"], value_set=ids)).to_pylist():
                found[row["task_id"]] = rows.task_of(row)
        return found

    def _task_files(self, *, every: bool) -> list[StoredFile]:
        whole, partly = self.state.visible()
        shards = self.state.shards if every else [*whole, *partly]
        return [shard.files["tasks"] for shard in shards if "tasks" in shard.files]

    def decided(self, stage_key: str) -> set[str]:
        """Trajectories that have decisions under a stage's key."""
        files = [
            shard.files["decisions"]
            for shard in self.state.shards
            if shard.stage_key == stage_key and "decisions" in shard.files
        ]
        return {
            identity
            for file in files
            for identity in self.files.table(file).column("trajectory_id").to_pylist()
        }

    def _read_shard(self, shard: ShardLine, wanted: Sequence[str]) -> Iterator[Trajectory]:
        """The wanted of its trajectories; of the others nothing is decoded, which is most of the
        work.
        """
        tables = (self.files.table(shard.files[name]) for name in ("trajectories", "turns"))
        if len(wanted) < len(shard.slots):
            ids = pa.array(wanted, pa.string())
            tables = (table.filter(pc.is_in(table["trajectory_id"], ids)) for table in tables)
        return rows.trajectories_of(*tables)

    def append(self, line: manifest.Line) -> bool:
        """Writes a line after those that were read; False where another writer was first."""
        return self._cursor.append(line)

    def _append(self, make: Callable[[], manifest.Line | None]) -> bool:
        """Writes a line at the end of the log; asked again after each look at what others wrote,
        None = not needed any more: False.
        """
        self.refresh()
        while (line := make()) is not None:
            if self.append(line):
                self.refresh()
                return True
            self._after_another()
        return False

    def _after_another(self) -> None:
        """Reads the line that another writer wrote first; some object stores refuse ours a moment
        before theirs can be read.
        """
        before = self.state.lines
        for _ in range(PATIENCE):
            if self.refresh().lines > before:
                return
            time.sleep(0.1)
        raise manifest.missing_error(self.storage, before)

    def _renumbered(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """Attempts that another process committed meanwhile under the same number get the next free
        ones.
        """
        result, given = [], dict[str, int]()
        for trajectory in trajectories:
            attempt = max(
                trajectory.attempt,
                given.get(trajectory.slot_id, self.state.next_attempt(trajectory.slot_id)),
            )
            given[trajectory.slot_id] = attempt + 1
            if attempt != trajectory.attempt:
                identity = trajectory_id(trajectory.slot_id, attempt)
                trajectory = msgspec.structs.replace(
                    trajectory, attempt=attempt, trajectory_id=identity
                )
            result.append(trajectory)
        return result
