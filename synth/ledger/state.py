"""The manifest folded into what a run holds: settled slots, current stages, visible shards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synth.ledger.manifest import DoneLine, FlowLine, ImportedFile, ImportLine, Line, RunLine, ShardLine, SlotRecord, StageLine

IMPORT = "import"


@dataclass(slots=True)
class SlotState:
    """All that is known of one slot."""

    attempts: int = 0
    valid: SlotRecord | None = None
    last_fault: str | None = None


@dataclass(slots=True)
class LedgerState:
    """Folded line by line; later lines see what earlier ones settled."""

    run_id: str = ""
    lines: int = 0
    flow: Mapping[str, Any] | None = None
    stages: dict[str, StageLine] = field(default_factory=dict)
    former_stages: dict[str, StageLine] = field(default_factory=dict)
    shards: list[ShardLine] = field(default_factory=list)
    slots: dict[str, SlotState] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    done: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    named: set[tuple[str, str]] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)
    imported: dict[str, ImportedFile] = field(default_factory=dict)

    def fold(self, line: Line, missing: Iterable[str] = ()) -> None:
        """Takes in the next line; `missing` are paths of a shard's files that are gone: such a shard counts as never committed."""
        self.lines += 1
        match line:
            case RunLine():
                self.run_id = line.run_id
            case FlowLine():
                self.flow = line.flow
                self.former_stages |= self.stages
                self.stages = {}
            case StageLine():
                self.stages[line.stage] = line
            case DoneLine():
                self.done[(line.stage, line.stage_key)] = line.report
            case ShardLine():
                gone = list(missing)
                if gone:
                    self.lost.append(f"{gone[0]}: missing; its {len(line.slots)} episodes count as not done (a rerun executes them anew)")
                    self.done.pop((line.stage, line.stage_key), None)
                else:
                    self._settle(line)
            case ImportLine():
                gone = list(missing)
                if gone:
                    count = sum(len(shard.slots) for shard in line.shards)
                    self.lost.append(
                        f"{gone[0]}: missing; the {count} trajectories imported with it count as not there (import them again)"
                    )
                else:
                    self.imported |= {file.sha: file for file in line.files}
                    for shard in line.shards:
                        self._settle(shard)

    def _settle(self, line: ShardLine) -> None:
        self.shards.append(line)
        self.superseded.update(line.superseded)
        self.named.add((line.stage_key, line.name))
        for record in line.slots:
            slot = self.slots.setdefault(record.slot_id, SlotState())
            slot.attempts = max(slot.attempts, record.attempt + 1)
            if record.fault is not None:
                slot.last_fault = record.fault
            elif slot.valid is None:
                slot.valid = record

    def is_current(self, shard: ShardLine) -> bool:
        """Whether a shard belongs to the current flow; imports always do."""
        if shard.stage == IMPORT:
            return True
        stage = self.stages.get(shard.stage)
        return stage is not None and stage.stage_key == shard.stage_key

    def adopted(self) -> set[str]:
        """Trajectories of equal slots that current stages took over from other keys."""
        return {identity for stage in self.stages.values() for identity in stage.adopted}

    def visible(self) -> tuple[list[ShardLine], list[ShardLine]]:
        """Shards seen whole (less what is superseded), and shards of which only adopted trajectories are seen."""
        adopted = self.adopted()
        whole = [shard for shard in self.shards if self.is_current(shard)]
        partly = [s for s in self.shards if not self.is_current(s) and any(r.trajectory_id in adopted for r in s.slots)] if adopted else []
        return whole, partly

    def valid_by_shard(self) -> list[list[str]]:
        """Ids of the valid trajectories that the current flow sees, shard by shard, in the order in which the ledger reads them."""
        whole, partly = self.visible()
        adopted = self.adopted()
        found = [[r.trajectory_id for r in shard.slots if r.fault is None and r.trajectory_id not in self.superseded] for shard in whole]
        found += [[r.trajectory_id for r in shard.slots if r.trajectory_id in adopted] for shard in partly]
        return [part for part in found if part]

    def current_valid(self) -> list[str]:
        """Sorted ids of the valid trajectories that the current flow sees."""
        return sorted(identity for part in self.valid_by_shard() for identity in part)
