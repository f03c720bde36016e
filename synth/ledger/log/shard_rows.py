"""Rows of committed shards as records: trajectories and tasks, one shard in memory at a time."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from synth.ledger.log.manifest import ShardLine, StoredFile
from synth.ledger.log.shard_files import ShardFiles
from synth.ledger.log.state import LedgerState
from synth.ledger.tables import rows
from synth.schemas import ConfigError, Task, Trajectory

_LIGHT = """
    trajectory_id task_id synthesizer model stage attempt outcome fault termination authorship
    benchmark prompt_tokens completion_tokens cached_tokens model_calls cost_usd n_turns
    n_tool_calls fault_detail
"""
LIGHT = _LIGHT.split()
"""Columns of a trajectory that are no longer than a line."""


class ShardRows:
    """The rows of one run, of those shards that its `state` names when they are asked for."""

    def __init__(self, url: str, files: ShardFiles, state: LedgerState) -> None:
        self._url = url
        self._files = files
        self._state = state
        self._tasks_in: dict[str, frozenset[str]] = {}

    def trajectories(
        self, wanted: Collection[str] | None = None, *, every: bool = False
    ) -> Iterator[Trajectory]:
        """The current flow's trajectories, or those of `every` flow that ran here; all attempts,
        one shard in memory at a time.
        """
        for shard, slots in self._state.seen(every=every):
            ids = [r.trajectory_id for r in slots if wanted is None or r.trajectory_id in wanted]
            if ids and "trajectories" in shard.files:
                yield from self._read_shard(shard, ids)

    def records(self) -> Iterator[dict[str, Any]]:
        """Rows of the current flow's trajectories without the heavy columns, one shard in memory at
        a time.
        """
        for shard, slots in self._state.seen():
            if "trajectories" in shard.files:
                seen = {record.trajectory_id for record in slots}
                for row in self._files.table(shard.files["trajectories"], LIGHT).to_pylist():
                    if row["trajectory_id"] in seen:
                        yield row

    def trajectory(self, identity: str) -> Trajectory:
        """One trajectory by id or unique beginning of one, of any flow that ran here. Raises
        `ConfigError`.
        """
        found = {
            record.trajectory_id: shard
            for shard in self._state.shards
            for record in shard.slots
            if record.trajectory_id.startswith(identity)
        }
        if len(found) != 1:
            problem = f"is the beginning of {len(found)} ids" if found else "names no trajectory"
            raise ConfigError(
                f"{identity!r} {problem} in {self._url}; list them with: synth sql RUN "
                "'SELECT trajectory_id FROM trajectories'"
            )

        ((whole_id, shard),) = found.items()
        return next(self._read_shard(shard, [whole_id]))

    def task_ids(self) -> dict[str, str]:
        """The current flow's tasks: id -> environment."""
        files = self._task_files(every=False)
        tables = (self._files.table(file, ["task_id", "env"]) for file in files)
        return {row["task_id"]: row["env"] for table in tables for row in table.to_pylist()}

    def tasks(self, wanted: Collection[str], *, every: bool = False) -> dict[str, Task]:
        """The wanted tasks by id, as far as the current flow has them, or any flow that ran here.

        Which tasks a file holds is remembered: files without any that is wanted are read once.
        """
        found: dict[str, Task] = {}
        for file in self._task_files(every=every):
            held = self._tasks_in.get(file.path)
            if held is not None and held.isdisjoint(wanted):
                continue
            table = self._files.table(file)
            if held is None:
                held = self._tasks_in[file.path] = frozenset(table["task_id"].to_pylist())
            ids = pa.array(sorted(held.intersection(wanted)), pa.string())
            for row in table.filter(pc.is_in(table["task_id"], value_set=ids)).to_pylist():
                found[row["task_id"]] = rows.task_of(row)

        return found

    def _task_files(self, *, every: bool) -> list[StoredFile]:
        whole, partly = self._state.visible()
        shards = self._state.shards if every else [*whole, *partly]
        return [shard.files["tasks"] for shard in shards if "tasks" in shard.files]

    def _read_shard(self, shard: ShardLine, wanted: Sequence[str]) -> Iterator[Trajectory]:
        """The wanted of its trajectories; of the others nothing is decoded, which is most of the
        work.
        """
        tables = (self._files.table(shard.files[name]) for name in ("trajectories", "turns"))
        if len(wanted) < len(shard.slots):
            ids = pa.array(wanted, pa.string())
            tables = (table.filter(pc.is_in(table["trajectory_id"], ids)) for table in tables)
        return rows.trajectories_of(*tables)
