"""One run directory: commits whole shards, keeps what is settled, and reads it back shard by
shard.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from synth.ledger.log import manifest
from synth.ledger.log.attempt_numbers import is_outdated, renumbered
from synth.ledger.log.cursor import Cursor
from synth.ledger.log.fencing import refuse_fenced
from synth.ledger.log.manifest import (
    DoneLine,
    FenceLine,
    FlowLine,
    ImportLine,
    Json,
    RunLine,
    ShardLine,
    SlotRecord,
    StageLine,
    WrittenLine,
)
from synth.ledger.log.shard_files import ShardFiles
from synth.ledger.log.shard_rows import ShardRows
from synth.ledger.log.state import LedgerState
from synth.ledger.storage import Storage
from synth.ledger.storage.journal import state_folder
from synth.ledger.tables.graph_rows import Edge, Node
from synth.ledger.tables.role_reply import RoleReply
from synth.ledger.tables.row_validation import storable_shard
from synth.ledger.tables.rows import Records
from synth.schemas import ConfigError, Outcome, SynthError, Task, Trajectory

if TYPE_CHECKING:
    import polars as pl

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
    detail: msgspec.Struct | Json | None = None


class Decision(msgspec.Struct, frozen=True):
    """A filter's verdict on a trajectory."""

    trajectory_id: str
    filter: str
    keep: bool | None
    reason: str
    score: float | None = None
    detail: Json | None = None


class StoredLedger:
    """A run directory, open. `state` is what the manifest said when it was last read (`refresh`).

    With `may_be_empty` nothing is written before the first commit, which is then one of imported
    files.
    """

    def __init__(self, url: str, *, create: bool = False, may_be_empty: bool = False) -> None:
        self.storage = Storage(url)
        self.state = LedgerState()
        self.files = ShardFiles(self.storage)
        rows = ShardRows(self.storage.url, self.files, self.state)
        self.trajectories, self.records, self.trajectory = (
            rows.trajectories,
            rows.records,
            rows.trajectory,
        )
        self.task_ids, self.tasks = rows.task_ids, rows.tasks
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
        opened = self._cursor.opened
        while lines := self._cursor.ahead(self.state.lines):
            for line in lines:
                paths = () if opened else manifest.shard_paths(line)
                self.state.fold(line, self.files.missing(paths))

        return self.state

    def begin_flow(self, flow: Json, stages: Sequence[StageLine] = ()) -> None:
        """Makes a flow the current one, with the `stages` that it takes over; the others follow
        through `begin_stage`.
        """
        self._append(FlowLine(flow, tuple(stages)), lambda: self.state.flow != flow)

    def begin_stage(self, line: StageLine) -> None:
        """Makes a stage's key the current one."""
        self._append(line, lambda: self.state.stages.get(line.stage) != line)

    def finish_stage(self, ref: StageRef, report: Json) -> None:
        """Records that a stage ran to its end."""
        key = (ref.stage, ref.stage_key)
        self._append(DoneLine(*key, report), lambda: self.state.done.get(key) != report)

    def name_written(self, line: WrittenLine) -> None:
        """Names files beside the tables that are about to stand; nothing is added where the
        manifest says so already.
        """
        self._append(line, lambda: not self.state.names(line))

    def fence(self, work: str, token: int, holder: str) -> bool:
        """Takes a piece of work under `token` from whoever holds it under a smaller one; False
        where another writer was first.
        """
        line = FenceLine(work, token, holder)
        return self._append(line, lambda: self.state.fences.get(work, 0) < token)

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
        returned (see `ended_line`). `name` marks the piece of work as done in `state.named`. Raises
        `SynthError` for any other record that cannot be held, and `FencedError` where the worker of
        the current task (`synth.ledger.log.fencing`) was declared dead.
        """
        records: Records = {
            **{"trajectories": trajectories, "tasks": tasks, "decisions": decisions},
            **{"scores": scores, "replies": replies, "nodes": nodes, "edges": edges},
        }
        while True:
            refuse_fenced(self.refresh().fences)
            line, ended = self.write_shard(ref, records, name)
            while not self.append(line):
                self._after_another()
                if is_outdated(self.state, line):
                    break
            else:
                self.refresh()
                return [now for _, now in ended]
            self.discard([line])

    def write_shard(
        self, ref: StageRef, records: Records, name: str = ""
    ) -> tuple[ShardLine, list[tuple[Trajectory, Trajectory]]]:
        """Writes a shard's files, `records` by table, uncommitted: until a line of the manifest
        names them they are part of nothing.

        Also returns each trajectory that became invalid for it: as it was, and as it is now.
        """
        given: Sequence[Any] = records.get("trajectories", ())
        records = {**records, "trajectories": renumbered(self.state, given)}
        kept, tables, ended = storable_shard(ref.stage, ref.stage_key, records)
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
        return line, ended

    def commit_import(self, line: ImportLine) -> None:
        """One line of the manifest for imported files and the shards that hold them; makes the run
        where there is none.

        Raises `SynthError` where another process imported the same meanwhile; its rows stand, these
        are removed.
        """
        while True:
            if not self.refresh().lines:
                self.append(RunLine(uuid.uuid4().hex))
                continue
            if any(one.slot_id in self.state.slots for shard in line.shards for one in shard.slots):
                self.discard(line.shards)
                raise SynthError(
                    f"{self.storage.url}: another import of the same files came first; run the "
                    "command again for the rest"
                )
            if self.append(line):
                self.refresh()
                return

    def discard(self, shards: Iterable[ShardLine]) -> None:
        """Removes the files of shards that were never committed."""
        for path in (file.path for shard in shards for file in shard.files.values()):
            self.storage.discard(path)

    def frame(self, table: str, *, every: bool = False) -> "pl.LazyFrame":
        """A table's rows of the current flow, or of `every` flow that ran here, read when the frame
        is collected. Raises `ConfigError` for an unknown table, `DamagedError`.
        """
        from synth.ledger.views import connect

        return connect(self, apart=True).frame(table, every=every)

    def append(self, line: manifest.Line) -> bool:
        """Writes a line after those that were read; False where another writer was first."""
        return self._cursor.append(line)

    def _append(self, line: manifest.Line, needed: Callable[[], bool]) -> bool:
        """Writes a line at the end of the log. `needed` is asked after each look at what others
        wrote; returns False once it is not.
        """
        self.refresh()
        while needed():
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
