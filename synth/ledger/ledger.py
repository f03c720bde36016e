"""One run directory: commits whole shards, keeps what is settled, and reads it back shard by shard."""

import io
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.canonical import digest
from schemas.errors import ConfigError, DamagedError, SynthError
from schemas.identity import trajectory_id
from schemas.outcome import Outcome
from schemas.task import Task
from schemas.trajectory import Trajectory
from synth.ledger import manifest, rows
from synth.ledger.journal import state_folder
from synth.ledger.manifest import DoneLine, FlowLine, ImportLine, RunLine, ShardLine, SlotRecord, StageLine, StoredFile
from synth.ledger.state import LedgerState
from synth.ledger.storage import Storage
from synth.ledger.tables import COMMIT_ORDER


class StageRef(msgspec.Struct, frozen=True):
    """Which stage wrote a row, under which key."""

    stage: str
    stage_key: str


class Score(msgspec.Struct, frozen=True):
    """A number about a trajectory or one of its turns."""

    subject_id: str
    metric: str
    value: float | None
    turn: int | None = None
    detail: Mapping[str, Any] | None = None


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

    With `may_be_empty` nothing is written before the first commit, which is then one of `synth.ledger.importing`.
    """

    def __init__(self, url: str, *, create: bool = False, may_be_empty: bool = False) -> None:
        self.storage = Storage(url)
        self.state = LedgerState()
        self._verified: set[str] = set()
        self.refresh()
        if not self.state.lines and not may_be_empty:
            if not create:
                raise ConfigError(
                    f"{url}: holds no run; `synth run FLOW.yaml --run-dir {url}` or `synth import SRC --into {url}` makes one"
                )
            manifest.append(self.storage, 0, RunLine(uuid.uuid4().hex))
            self.refresh()

    @property
    def journal_folder(self) -> Path:
        """Where this run's journals lie on this machine."""
        return state_folder() / "journal" / self.state.run_id

    def refresh(self) -> LedgerState:
        """Reads the manifest lines written since the last look."""
        while (line := manifest.read(self.storage, self.state.lines)) is not None:
            shards = (line,) if isinstance(line, ShardLine) else line.shards if isinstance(line, ImportLine) else ()
            files = [file for shard in shards for file in shard.files.values()]
            missing = [self.storage.path(file.path) for file in files if self.storage.size(file.path) is None]
            self.state.fold(line, missing)
        return self.state

    def begin_flow(self, flow: Mapping[str, Any]) -> None:
        """Makes a flow the current one; its stages follow through `begin_stage`."""
        self._append(lambda: FlowLine(flow) if self.state.flow != flow else None)

    def begin_stage(self, line: StageLine) -> None:
        """Makes a stage's key the current one."""
        self._append(lambda: line if self.state.stages.get(line.stage) != line else None)

    def finish_stage(self, ref: StageRef, report: Mapping[str, Any]) -> None:
        """Records that a stage ran to its end."""
        key = (ref.stage, ref.stage_key)
        self._append(lambda: DoneLine(ref.stage, ref.stage_key, report) if self.state.done.get(key) != report else None)

    def commit(
        self,
        ref: StageRef,
        *,
        trajectories: Sequence[Trajectory] = (),
        tasks: Sequence[Task] = (),
        decisions: Sequence[Decision] = (),
        scores: Sequence[Score] = (),
        name: str = "",
    ) -> None:
        """Commits a shard, whole or not at all; the first commit of a slot wins, later ones are kept as further attempts.

        `name` marks the piece of work as done in `state.named`.
        """
        while True:
            self.refresh()
            kept, line = self.write_shard(ref, trajectories, tasks, decisions=decisions, scores=scores, name=name)
            while not manifest.append(self.storage, self.state.lines, line):
                self.refresh()
                if kept != self._renumbered(kept) or any(self._settled(t.slot_id) for t in kept if t.trajectory_id not in line.superseded):
                    break
            else:
                self.refresh()
                return
            for file in line.files.values():
                self.storage.discard(file.path)

    def write_shard(
        self,
        ref: StageRef,
        trajectories: Sequence[Trajectory],
        tasks: Sequence[Task],
        *,
        decisions: Sequence[Decision] = (),
        scores: Sequence[Score] = (),
        name: str = "",
    ) -> tuple[list[Trajectory], ShardLine]:
        """Writes a shard's files without committing them: until a line of the manifest names them they are part of nothing."""
        kept = self._renumbered(trajectories)
        line = ShardLine(
            stage=ref.stage,
            stage_key=ref.stage_key,
            files=self._write(rows.shard_tables(ref.stage, ref.stage_key, kept, tasks, decisions, scores)),
            slots=tuple(SlotRecord(t.slot_id, t.attempt, t.trajectory_id, t.fault) for t in kept),
            superseded=tuple(t.trajectory_id for t in kept if t.outcome is not Outcome.INVALID and self._settled(t.slot_id)),
            name=name,
        )
        return kept, line

    def trajectories(self, wanted: set[str] | None = None) -> Iterator[Trajectory]:
        """The current flow's trajectories, all attempts, one shard in memory at a time."""
        whole, partly = self.state.visible()
        adopted = self.state.adopted()
        for shards, allowed in ((whole, None), (partly, adopted)):
            for shard in shards:
                if wanted is not None and not any(record.trajectory_id in wanted for record in shard.slots):
                    continue
                if "trajectories" not in shard.files:
                    continue
                for trajectory in self._read_shard(shard):
                    identity = trajectory.trajectory_id
                    if identity in self.state.superseded or (allowed is not None and identity not in allowed):
                        continue
                    if wanted is None or identity in wanted:
                        yield trajectory

    def records(self, stages: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Rows of the current flow's trajectories without the heavy columns, of all stages or of those named."""
        columns = ["trajectory_id", "task_id", "synthesizer", "model", "stage", "attempt", "outcome", "fault", "termination", "authorship"]
        columns += [
            "benchmark",
            "prompt_tokens",
            "completion_tokens",
            "cached_tokens",
            "model_calls",
            "cost_usd",
            "n_turns",
            "n_tool_calls",
        ]
        whole, partly = self.state.visible()
        adopted = self.state.adopted()
        for shard in [*whole, *partly]:
            if "trajectories" not in shard.files or (stages is not None and shard.stage not in stages):
                continue
            blob = self.verified_bytes(shard.files["trajectories"])
            seen = {r.trajectory_id for r in shard.slots} if self.state.is_current(shard) else adopted
            for row in pq.read_table(pa.BufferReader(blob), columns=columns).to_pylist():
                if row["trajectory_id"] in seen and row["trajectory_id"] not in self.state.superseded:
                    yield row

    def trajectory(self, identity: str) -> Trajectory:
        """One trajectory by id or unique beginning of one, of any flow that ran here. Raises `ConfigError`."""
        found = {r.trajectory_id: s for s in self.state.shards for r in s.slots if r.trajectory_id.startswith(identity)}
        if len(found) != 1:
            problem = "names no trajectory" if not found else f"is the beginning of {len(found)} ids"
            raise ConfigError(
                f"{identity!r} {problem} in {self.storage.url}; list them with: synth sql RUN 'SELECT trajectory_id FROM trajectories'"
            )
        ((whole_id, shard),) = found.items()
        return next(t for t in self._read_shard(shard) if t.trajectory_id == whole_id)

    def task_ids(self) -> dict[str, str]:
        """The current flow's tasks: id -> environment."""
        return {
            row["task_id"]: row["env"] for table in self._task_tables(every=False) for row in table.select(["task_id", "env"]).to_pylist()
        }

    def tasks(self, wanted: Collection[str], *, every: bool = False) -> dict[str, Task]:
        """The wanted tasks by id, as far as the current flow has them, or any flow that ran here."""
        ids = pa.array(sorted(wanted), pa.string())
        found: dict[str, Task] = {}
        for table in self._task_tables(every=every):
            for row in table.filter(pc.is_in(table["task_id"], value_set=ids)).to_pylist():
                found[row["task_id"]] = rows.task_of(row)
        return found

    def _task_tables(self, *, every: bool) -> Iterator[pa.Table]:
        whole, partly = self.state.visible()
        for shard in self.state.shards if every else [*whole, *partly]:
            if "tasks" in shard.files:
                yield self.table(shard.files["tasks"])

    def table(self, file: StoredFile) -> pa.Table:
        """One parquet file, its bytes compared with what the manifest says."""
        return pq.read_table(pa.BufferReader(self.verified_bytes(file)))

    def verify(self, file: StoredFile) -> None:
        """Compares a file with its digest, once per open ledger. Raises `DamagedError`."""
        if file.path not in self._verified:
            self.verified_bytes(file)

    def decided(self, stage_key: str) -> set[str]:
        """Trajectories that have decisions under a stage's key."""
        files = [shard.files["decisions"] for shard in self.state.shards if shard.stage_key == stage_key and "decisions" in shard.files]
        return {identity for file in files for identity in self.table(file).column("trajectory_id").to_pylist()}

    def verified_bytes(self, file: StoredFile) -> bytes:
        """A committed file's bytes. Raises `DamagedError` where they differ from those that were written."""
        try:
            blob = self.storage.read(file.path)
        except FileNotFoundError as error:
            raise DamagedError(f"{self.storage.path(file.path)}: missing; restore it from a backup, or run the flow again") from error
        if file.path not in self._verified:
            if digest(blob) != file.digest:
                raise DamagedError(
                    f"{self.storage.path(file.path)}: damaged (its bytes are not those that were committed); every other shard is intact: "
                    "restore it from a backup, or delete it and run the flow again to redo its episodes"
                )
            self._verified.add(file.path)
        return blob

    def _read_shard(self, shard: ShardLine) -> Iterator[Trajectory]:
        turns: dict[str, list[Any]] = {}
        for row in self.table(shard.files["turns"]).to_pylist():
            turns.setdefault(row["trajectory_id"], []).append(rows.turn_of(row))
        for row in self.table(shard.files["trajectories"]).to_pylist():
            yield rows.trajectory_of(row, turns.get(row["trajectory_id"], ()))

    def _append(self, make: Callable[[], manifest.Line | None]) -> None:
        """Writes a line at the end of the log; asked again after each look at what others wrote, None = not needed any more."""
        self.refresh()
        while (line := make()) is not None:
            if manifest.append(self.storage, self.state.lines, line):
                self.refresh()
                return
            self.refresh()

    def _settled(self, slot: str) -> bool:
        state = self.state.slots.get(slot)
        return state is not None and state.valid is not None

    def _renumbered(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """Attempts that another process committed meanwhile under the same number get the next free ones."""
        result, given = [], dict[str, int]()
        for trajectory in trajectories:
            slot = self.state.slots.get(trajectory.slot_id)
            taken = slot.attempts if slot is not None else 0
            attempt = max(trajectory.attempt, given.get(trajectory.slot_id, taken))
            given[trajectory.slot_id] = attempt + 1
            if attempt != trajectory.attempt:
                identity = trajectory_id(trajectory.slot_id, attempt)
                trajectory = msgspec.structs.replace(trajectory, attempt=attempt, trajectory_id=identity)
            result.append(trajectory)
        return result

    def _write(self, tables: Mapping[str, pa.Table]) -> dict[str, StoredFile]:
        nonce = uuid.uuid4().hex
        files = {}
        for name in COMMIT_ORDER:
            if name not in tables:
                continue
            buffer = io.BytesIO()
            pq.write_table(tables[name], buffer, compression="zstd", compression_level=1, row_group_size=20_000)
            blob = buffer.getvalue()
            path = f"{name}/{nonce}.parquet"
            if not self.storage.create(path, blob):
                raise SynthError(f"{self.storage.path(path)}: exists already under a name drawn at random; run again")
            files[name] = StoredFile(path, tables[name].num_rows, len(blob), digest(blob))
        return files
