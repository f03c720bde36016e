"""The manifest folded into what a run holds: settled slots, current stages, visible shards."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from synth.ledger.log.manifest import (
    DoneLine,
    FenceLine,
    FlowLine,
    ImportedFile,
    ImportLine,
    Json,
    Line,
    RunLine,
    ShardLine,
    SlotRecord,
    StageLine,
    WrittenLine,
)
from synth.ledger.log.stage_keys import conclusion, evidence_key

IMPORT = "import"


class SlotState(msgspec.Struct):
    """All that is known of one slot; `valid` is the first valid attempt whose shard is there."""

    attempts: int = 0
    valid: SlotRecord | None = None
    last_fault: str | None = None


class LedgerState(msgspec.Struct):
    """Folded line by line; later lines see what earlier ones settled.

    `named`: (stage key, name) of each piece of work that is committed. `written`: what stands
    beside the tables, by dataset folder or path. `formerly`: the digests that a path ever had.
    `flow_of`: the name of the last flow that had a stage under a key.
    """

    run_id: str = ""
    lines: int = 0
    flow: Json | None = None
    stages: dict[str, StageLine] = {}
    former_stages: dict[str, StageLine] = {}
    shards: list[ShardLine] = []
    slots: dict[str, SlotState] = {}
    done: dict[tuple[str, str], Json] = {}
    named: set[tuple[str, str]] = set()
    lost_shards: list[tuple[str, ShardLine]] = []
    imported: dict[str, ImportedFile] = {}
    fences: dict[str, int] = {}
    format: int = 1
    written: dict[str, WrittenLine] = {}
    formerly: dict[str, set[str]] = {}
    flow_of: dict[str, str] = {}
    _lost_attempts: dict[str, int] = {}
    _contested: set[str] = set()
    _last: dict[str, ShardLine | None] = {}
    _hidden: tuple[int, frozenset[str]] = (0, frozenset())

    def fold(self, line: Line, missing: Mapping[str, str] = MappingProxyType({})) -> None:
        """Takes in the next line.

        `missing`: whole paths of files that are gone, by path in the run; the shards of these count
        as never made.
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
                # without its conclusion a stage is still to be done
                if self._last.get(conclusion(line.stage_key), line) is not None:
                    self.done[(line.stage, line.stage_key)] = line.report
            case FenceLine():
                self.fences[line.work] = max(line.token, self.fences.get(line.work, 0))
            case WrittenLine():
                self.written |= dict.fromkeys(line.places(), line)
                for path, file in line.files.items():
                    self.formerly.setdefault(path, set()).add(file.sha256)
                self.done.pop((line.stage, line.stage_key), None)
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

    def _take(self, line: ShardLine, missing: Mapping[str, str]) -> None:
        gone = [missing[file.path] for file in line.files.values() if file.path in missing]
        if gone:
            self._lose(line, gone[0])
            return

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

    def _lose(self, line: ShardLine, path: str) -> None:
        self.lost_shards.append((path, line))
        self.done.pop((line.stage, line.stage_key), None)
        self._last[line.stage_key] = None
        for record in line.slots:
            before = self._lost_attempts.get(record.slot_id, 0)
            self._lost_attempts[record.slot_id] = max(before, record.attempt + 1)

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

    def settled(self, slot_id: str) -> bool:
        """Whether a slot has a valid attempt."""
        return (slot := self.slots.get(slot_id)) is not None and slot.valid is not None

    def trajectories_of(self, stage_key: str) -> set[str]:
        """The trajectories that were committed under a key."""
        shards = (shard.slots for shard in self.shards if shard.stage_key == stage_key)
        return {record.trajectory_id for slots in shards for record in slots}

    def next_attempt(self, slot_id: str) -> int:
        """The first number that no attempt at a slot ever had, no lost one either: verdicts on that
        one are not verdicts on the next.
        """
        slot = self.slots.get(slot_id)
        return max(slot.attempts if slot is not None else 0, self._lost_attempts.get(slot_id, 0))

    @property
    def superseded(self) -> frozenset[str]:
        """Valid attempts that the current flow hides, because it shows an earlier one at the same
        slot.
        """
        if self._hidden[0] != self.lines:
            found = frozenset(self._second_attempts()) if self._contested else frozenset()
            self._hidden = (self.lines, found)
        return self._hidden[1]

    def _second_attempts(self) -> Iterator[str]:
        adopted, taken = self.adopted(), set[str]()
        for shard in self.shards:
            for record in self._shown(shard, adopted):
                if record.fault is None and record.slot_id in self._contested:
                    if record.slot_id in taken:
                        yield record.trajectory_id
                    taken.add(record.slot_id)

    def _shown(self, shard: ShardLine, adopted: set[str]) -> Sequence[SlotRecord]:
        """The attempts of a shard that belong to the current flow; superseded ones are among
        them.
        """
        if self.is_current(shard):
            return shard.slots
        return [record for record in shard.slots if record.trajectory_id in adopted]

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
        if not adopted:
            return whole, []
        others = (shard for shard in self.shards if not self.is_current(shard))
        return whole, [shard for shard in others if self._shown(shard, adopted)]

    def asked(self) -> list[ShardLine]:
        """Current shards, and what their stages keep apart: roles were asked for that, too."""
        apart = {evidence_key(stage.stage_key) for stage in self.stages.values()}
        return [one for one in self.shards if one.stage_key in apart or self.is_current(one)]

    def seen(self, *, every: bool = False) -> Iterator[tuple[ShardLine, list[SlotRecord]]]:
        """Shards with the attempts of theirs that the current flow sees, or `every` flow."""
        whole, partly = (self.shards, []) if every else self.visible()
        adopted, hidden = self.adopted(), self.superseded
        for shard in (*whole, *partly):
            slots = shard.slots if every else self._shown(shard, adopted)
            yield shard, [record for record in slots if record.trajectory_id not in hidden]

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
