"""The stage `export`: datasets under RUN/datasets, written from what the flow has collected and decided."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from schemas.canonical import content_hash
from schemas.stage import Plan, Shard
from synth.exporters.sft import ExportReport, export_sft
from synth.exporters.sft_rows import SftSettings
from synth.run.context import Run
from synth.run.decided import decided


class ExportSettings(BaseModel):
    """Which kinds, in which trainer's form; the other keys are those of the kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    kinds: tuple[str, ...] = ("sft",)
    form: str = Field(default="trl", alias="as")
    include_scripted: bool = False
    allow_benchmark: bool = False
    require_tools: bool = False
    keep_masked: bool = False
    rows_per_shard: int = Field(default=1000, ge=1)

    def sft(self) -> SftSettings:
        """What the SFT export is told."""
        shared = self.model_dump(exclude={"kinds"})
        return SftSettings(**shared, overwrite=True)


@dataclass(frozen=True, slots=True)
class ExportStage:
    """Writes RUN/datasets/<kind>."""

    name: str
    config: ExportSettings

    @property
    def settings(self) -> Mapping[str, Any]:
        """As in the flow."""
        return self.config.model_dump(mode="json")

    def inputs(self, run: Run) -> str:
        """The collected trajectories and the filters that judged them."""
        keys = sorted(line.stage_key for name, line in run.ledger.state.stages.items() if name != self.name)
        return content_hash([run.ledger.state.current_valid(), keys])

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard per kind, unless all stand already."""
        done = run.ledger.state.done.get((self.name, stage_key))
        if done is not None and all(run.ledger.storage.size(f"datasets/{kind}/README.md") is not None for kind in self.config.kinds):
            return Plan((), (), 0, "datasets")
        return Plan([Shard(kind, (kind,)) for kind in self.config.kinds], (), len(self.config.kinds), "datasets")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Writes one dataset; on an object store it is written here first, then copied."""
        (kind,) = shard.items
        storage = run.ledger.storage
        if storage.local:
            report = export_sft(decided(run.ledger), Path(storage.root, "datasets", kind), self.config.sft())
        else:
            with tempfile.TemporaryDirectory() as folder:
                report = export_sft(decided(run.ledger), Path(folder, kind), self.config.sft())
                storage.fs.put(f"{folder}/{kind}/", f"{storage.root}/datasets/{kind}/", recursive=True)
        run.exports[kind] = summary(report, storage.path(f"datasets/{kind}"))
        run.progress.step(1)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Rows and what was left out, by kind."""
        return {"kind": "export", "datasets": run.exports}


def summary(report: ExportReport, path: str) -> Mapping[str, Any]:
    """An export's report as it is kept and shown."""
    return {
        "path": path,
        "rows": report.rows,
        "trained_turns": report.trained_turns,
        "left_out": dict(report.left_out),
        "masked": dict(report.masked),
        "notes": list(report.notes),
    }
