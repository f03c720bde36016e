"""The manifest folded into what a run holds: settled slots, current stages, visible shards."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from synth.ledger.manifest import (
    DoneLine,
    FenceLine,
    FlowLine,
    ImportedFile,
    ImportLine,
    Line,
    RunLine,
    ShardLine,
    SlotRecord,
    StageLine,
    WrittenLine,
)
from synth.schemas.canonical import content_hash

IMPORT = "import"


def evidence_key(stage_key: str) -> str:
    """The key of rows that a stage keeps out of views, filters and datasets: not its own."""
    return content_hash([stage_key, "episodes"])


@lru_cache(maxsize=1024)
def conclusion(stage_key: str) -> str:
    """The key of what a stage concludes from all its work: of several shards under it the last is
    in force, and nobody sees the others.
    """
    return content_hash([stage_key, "conclusion"])


@dataclass(slots=True)
class SlotState:
    """All that is known of one slot; `valid` is the first valid attempt whose shard is there."""

    attempts: int = 0
    valid: SlotRecord | None = None
    last_fault: str | None = None


@dataclass(slots=True)
class LedgerState:
    """Folded line by line; later lines see what earlier ones settled.

    `written`: what stands beside the tables, by dataset folder or path; `formerly`: the digests
    that a path ever had; `flow_of`: the name
    of the last flow that had a stage under a key.
    """

    run_id: str = ""
    lines: int = 0
    flow: Mapping[str, Any] | None = None
    stages: dict[str, StageLine] = field(default_factory=dict)
    former_stages: dict[str, StageLine] = field(default_factory=dict)
    shards: list[ShardLine] = field(default_factory=list)
    slots: dict[str, SlotState] = field(default_factory=dict)
    done: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    named: set[tuple[str, str]] = field(default_factory=set)
    lost_shards: list[tuple[str, ShardLine]] = field(default_factory=list)
    imported: dict[str, ImportedFile] = field(default_factory=dict)
    fences: dict[str, int] = field(default_factory=dict)
    format: int = 1
    written: dict[str, WrittenLine] = field(default_factory=dict)
    formerly: dict[str, set[str]] = field(default_factory=dict)
    flow_of: dict[str, str] = field(default_factory=dict)
    _lost_attempts: dict[str, int] = field(default_factory=dict)
    _contested: set[str] = field(default_factory=set)
    _last: dict[str, ShardLine | None] = field(default_factory=dict)
    _hidden: tuple[int, frozenset[str]] = (0, frozenset())

    def fold(self, line: Line, missing: Mapping[str, str] = MappingProxyType({})) -> None:
        """Takes in the next line; `missing`: whole paths of files that are gone, by path in the
        run. Their shards count as never made.
        """
        self.lines += 1
        match line:
            case RunLine():
                self.run_id, self.format = line.run_id, line.format
            case FlowLine():
                self.flow = line.flow
                self.former_stages |= self.stages
                self.stages = {}
                for stage in line.stages:
                    self._begin(stage)
            case StageLine():
                self._begin(line)
            case DoneLine():
                if (
                    self._last.get(conclusion(line.stage_key), line) is not None
                ):  # without its conclusion it is still to be done
                    self.done[(line.stage, line.stage_key)] = line.report
            case FenceLine():
                self.fences[line.work] = max(line.token, self.fences.get(line.work, 0))
            case WrittenLine():
                self._write(line)
            case ShardLine():
                self._take(line, missing)
            case ImportLine():
                for shard in line.shards:
                    self._take(shard, missing)
                if not missing:
                    self.imported |= {file.sha: file for file in line.files}

    def _begin(self, line: StageLine) -> None:
        self.stages[line.stage] = line
        self.flow_of[line.stage_key] = str((self.flow or {}).get("name", ""))

    def _write(self, line: WrittenLine) -> None:
        self.written |= dict.fromkeys(line.places(), line)
        for path, file in line.files.items():
            self.formerly.setdefault(path, set()).add(file.sha256)
        self.done.pop((line.stage, line.stage_key), None)

    def names(self, line: WrittenLine) -> bool:
        """Whether the files of a line are those that the manifest names already, of a dataset for
        the same stage.
        """
        if line.folder:
            return self.written.get(line.folder) == line
        return all(
            path in self.written and self.written[path].files[path] == file
            for path, file in line.files.items()
        )

    def is_unfinished(self, line: WrittenLine) -> bool:
        """Whether the stage that named these files has not said since that they stand."""
        return bool(line.stage) and (line.stage, line.stage_key) not in self.done

    def _take(self, line: ShardLine, missing: Mapping[str, str]) -> None:
        gone = [missing[file.path] for file in line.files.values() if file.path in missing]
        if gone:
            self._lose(line, gone[0])
        else:
            self._settle(line)

    def _lose(self, line: ShardLine, path: str) -> None:
        self.lost_shards.append((path, line))
        self.done.pop((line.stage, line.stage_key), None)
        self._last[line.stage_key] = None
        for record in line.slots:
            self._lost_attempts[record.slot_id] = max(
                self._lost_attempts.get(record.slot_id, 0), record.attempt + 1
            )

    def _settle(self, line: ShardLine) -> None:
        self.shards.append(line)
        self._last[line.stage_key] = line
        self.named.add((line.stage_key, line.name))
        for record in line.slots:
            slot = self.slots.setdefault(record.slot_id, SlotState())
            slot.attempts = max(slot.attempts, record.attempt + 1)
            if record.fault is not None:
                slot.last_fault = record.fault
            elif slot.valid is None:
                slot.valid = record
            else:
                self._contested.add(record.slot_id)

    def settled(self, slot_id: str) -> bool:
        """Whether a slot has a valid attempt."""
        return (slot := self.slots.get(slot_id)) is not None and slot.valid is not None

    def trajectories_of(self, stage_key: str) -> set[str]:
        """The valid trajectories that were committed under a key."""
        return {
            record.trajectory_id
            for shard in self.shards
            if shard.stage_key == stage_key
            for record in shard.slots
        }

    def next_attempt(self, slot_id: str) -> int:
        """The first number that no attempt at a slot ever had, a lost one neither: verdicts on that
        one are not verdicts on the next.
        """
        slot = self.slots.get(slot_id)
        return max(slot.attempts if slot is not None else 0, self._lost_attempts.get(slot_id, 0))

    @property
    def superseded(self) -> frozenset[str]:
        """Valid attempts that the current flow hides: an earlier one at the same slot is there and
        seen.
        """
        if self._hidden[0] != self.lines:
            self._hidden = (
                self.lines,
                frozenset(self._second_attempts()) if self._contested else frozenset(),
            )
        return self._hidden[1]

    def _second_attempts(self) -> Iterator[str]:
        adopted, taken = self.adopted(), set[str]()
        for shard in self.shards:
            current = self.is_current(shard)
            for record in shard.slots:
                if (
                    record.fault is None
                    and record.slot_id in self._contested
                    and (current or record.trajectory_id in adopted)
                ):
                    if record.slot_id in taken:
                        yield record.trajectory_id
                    taken.add(record.slot_id)

    @property
    def lost(self) -> list[str]:
        """One line per shard whose file is gone and whose work nobody has done again."""
        open_still = [(path, line) for path, line in self.lost_shards if not self._made_again(line)]
        return [
            _lost_line(path, line, settled=self._settled_without(line)) for path, line in open_still
        ]

    def _settled_without(self, line: ShardLine) -> bool:
        """Whether a shard was kept apart by a stage that is done: nothing is made of it any
        more.
        """
        return any(
            stage == line.stage and evidence_key(key) == line.stage_key for stage, key in self.done
        )

    def _made_again(self, line: ShardLine) -> bool:
        if line.slots:
            return all(record.slot_id in self.slots for record in line.slots)
        if any(conclusion(stage.stage_key) == line.stage_key for stage in self.stages.values()):
            return self._last.get(line.stage_key) is not None
        return (line.stage_key, line.name) in self.named

    def is_current(self, shard: ShardLine) -> bool:
        """Whether a shard belongs to the current flow; imports always do."""
        if shard.stage == IMPORT:
            return True
        stage = self.stages.get(shard.stage)
        return stage is not None and (
            stage.stage_key == shard.stage_key or self.concluded(stage.stage_key) is shard
        )

    def concluded(self, stage_key: str) -> ShardLine | None:
        """The conclusion of a stage that is in force; None too where its file is gone."""
        return self._last.get(conclusion(stage_key))

    def adopted(self) -> set[str]:
        """Trajectories of equal slots that current stages took over from other keys."""
        return {identity for stage in self.stages.values() for identity in stage.adopted}

    def visible(self) -> tuple[list[ShardLine], list[ShardLine]]:
        """Shards seen whole (less what is superseded), and shards of which only adopted
        trajectories are seen.
        """
        adopted = self.adopted()
        whole = [shard for shard in self.shards if self.is_current(shard)]
        partly = (
            [
                s
                for s in self.shards
                if not self.is_current(s) and any(r.trajectory_id in adopted for r in s.slots)
            ]
            if adopted
            else []
        )
        return whole, partly

    def seen(self, *, every: bool = False) -> Iterator[tuple[ShardLine, list[SlotRecord]]]:
        """Shards with the attempts of theirs that the current flow sees, or `every` flow."""
        whole, partly = (self.shards, []) if every else self.visible()
        adopted, hidden = self.adopted(), self.superseded
        for at, shard in enumerate([*whole, *partly]):
            yield (
                shard,
                [
                    record
                    for record in shard.slots
                    if record.trajectory_id not in hidden
                    and (at < len(whole) or record.trajectory_id in adopted)
                ],
            )

    def valid_by_shard(self) -> list[list[str]]:
        """Ids of the valid trajectories that the current flow sees, shard by shard, in the order in
        which the ledger reads them.
        """
        found = (
            [record.trajectory_id for record in slots if record.fault is None]
            for _, slots in self.seen()
        )
        return [part for part in found if part]

    def current_valid(self) -> list[str]:
        """Sorted ids of the valid trajectories that the current flow sees."""
        return sorted(identity for part in self.valid_by_shard() for identity in part)


def _lost_line(path: str, line: ShardLine, *, settled: bool) -> str:
    files = line.files
    table = next(
        (name for name in ("trajectories", "decisions", "labels", "tasks") if name in files),
        next(iter(files), ""),
    )
    what = f"the {files[table].rows} {table} of its shard" if files else "its shard"
    if settled:
        stands = (
            "what was found by them stands, and no run makes them again; put the file back "
            "from a backup to have them"
        )
        return (
            f"{path}: missing; {what} (stage {line.stage}) are gone, from the costs too: {stands}"
        )
    again = "import the same sources again" if line.stage == IMPORT else "run the flow again"
    mend = f"{again} to fill their slots again" if line.slots else f"{again} to make them again"
    return (
        f"{path}: missing; {what} (stage {line.stage}) count as never made: {mend}, or put "
        "the file back from a backup"
    )
