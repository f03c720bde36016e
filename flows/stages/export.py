"""The stage `export`: datasets under RUN/datasets, written from what the flow has collected and
decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
from pydantic import ConfigDict, Field, field_validator

from synth.engine.context import Run
from synth.engine.runs.unfinished import unfinished_line
from synth.exporters.export import ExportReport, export
from synth.exporters.folder.dataset_folder import Replace, why_to_write
from synth.exporters.folder.in_run import dataset_in, refuse_others
from synth.exporters.kind import RowSettings
from synth.exporters.registry import form_of
from synth.ledger.atomic_write import dataset_fault
from synth.ledger.ledger import StageRef
from synth.schemas.canonical import content_hash
from synth.schemas.release import Release
from synth.schemas.stage import Plan, Shard


class ExportSettings(RowSettings):
    """Which kinds, in which trainer's form (left out: each kind's own); the other keys are those of
    `RowSettings`.

    Datasets lie in RUN/datasets/<kind>, or RUN/datasets/<name>-<kind> where the stage has a `name`.
    `overwrite`: cards that were edited by hand are written anew, and datasets of another flow
    replaced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    kinds: tuple[str, ...] = Field(default=("sft",), min_length=1)
    form: str | None = Field(default=None, alias="as")
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    overwrite: bool = False

    @field_validator("kinds")
    @classmethod
    def _each_once(cls, kinds: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kinds))

    def folders(self) -> dict[str, str]:
        """Kind by folder, below the run."""
        return {
            f"datasets/{kind if self.name is None else f'{self.name}-{kind}'}": kind
            for kind in self.kinds
        }

    def rows(self) -> RowSettings:
        """What the exporters are told."""
        return RowSettings(**self.model_dump(exclude={"kinds", "name", "overwrite"}))


class FlowRelease(msgspec.Struct, frozen=True):
    """What the flow's exports of a kind let leave, all together, and whether any has a place for
    rows some of whose turns must carry no loss.
    """

    release: Release = Release(include_scripted=True)
    masked: bool = True

    @classmethod
    def by(cls, exports: Sequence[ExportSettings], kind: str) -> Self:
        """Without an export of the kind in the flow, scripts are left to a later one."""
        of_kind = [one for one in exports if kind in one.kinds]
        if not of_kind:
            return cls()

        # whatever one of them lets leave has a place somewhere
        names = ("include_scripted", "allow_benchmark", "allow_held_out", "include_evidence")
        given = {name: any(getattr(one, name) for one in of_kind) for name in names}
        masked = any(
            one.keep_masked or one.unroll != "whole" or form_of(kind, one.form).masks
            for one in of_kind
        )

        return cls(Release.model_validate(given), masked)

    @property
    def settings(self) -> Mapping[str, bool]:
        """For the key of the stage that goes by it."""
        return {
            "scripted": self.release.include_scripted,
            "benchmark": self.release.allow_benchmark,
            "held_out": self.release.allow_held_out,
            "masked": self.masked,
            "evidence": self.release.include_evidence,
        }


@dataclass(frozen=True, slots=True)
class ExportStage:
    """Writes the folders of `ExportSettings.folders`."""

    name: str
    config: ExportSettings

    @property
    def settings(self) -> Mapping[str, Any]:
        """As in the flow; whether a card may be overwritten changes no row."""
        return self.config.model_dump(mode="json", exclude={"overwrite"})

    def inputs(self, run: Run) -> str:
        """The collected trajectories, the stages that made or judged them, and which of these are
        not through.
        """
        whole, _ = run.ledger.state.visible()
        made_of = [run.ledger.state.current_valid(), sorted({shard.stage_key for shard in whole})]
        unfinished = self._unfinished(run)
        return content_hash(made_of if unfinished is None else [*made_of, unfinished])

    def _unfinished(self, run: Run) -> str | None:
        return unfinished_line(run.ledger, "exported", before=self.name)

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard per dataset, unless all of them stand as this stage wrote them; one without
        rows stands nowhere.
        """
        folders = self.config.folders()
        done = run.ledger.state.done.get((self.name, stage_key))
        missing = done is None

        for dataset in () if done is None else done["datasets"].values():
            problem = self._problem(run, stage_key, dataset["path"]) if dataset["rows"] else None

            if problem is not None:
                missing = True
                run.progress.say(f"{self.name}: {problem}; written again")

        shards = [Shard(folder.rpartition("/")[2], (folder,)) for folder in folders if missing]

        return Plan(shards, (), len(shards), "datasets")

    def _problem(self, run: Run, stage_key: str, folder: str) -> str | None:
        """Why a dataset does not stand as it was written. An edited card is left as it is unless
        the stage may overwrite it.
        """
        problem = why_to_write(run.ledger.storage.path(folder), stage_key)
        return problem or dataset_fault(run.ledger, folder, card=self.config.overwrite)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Writes one dataset."""
        (folder,) = shard.items
        if not self.config.overwrite:
            refuse_others(run.ledger, folder, run.flow.name, self.name)

        replace: Replace = "edited" if self.config.overwrite else "written"
        target = dataset_in(
            run.ledger,
            folder,
            replace=replace,
            flow=run.flow.name,
            ref=StageRef(self.name, stage_key),
        )

        kind = self.config.folders()[folder]

        def announce(report: ExportReport) -> None:
            for line in report.losses:
                run.progress.say(f"{self.name} {kind}: {line}")

        report = export(
            kind,
            run.ledger,
            target,
            self.config.rows(),
            announce=announce,
            unfinished=self._unfinished(run),
        )

        run.exports[folder] = summary(report, kind, folder)
        run.progress.step(1)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Rows and what was left out, by dataset; none where a ceiling stopped the run before."""
        datasets = {
            folder.rpartition("/")[2]: run.exports[folder]
            for folder in self.config.folders()
            if folder in run.exports
        }
        return {"kind": "export", "datasets": datasets}


def summary(report: ExportReport, kind: str, path: str) -> Mapping[str, Any]:
    """An export's report as it is kept and shown; the path of a flow's dataset is relative to the
    run, which may be moved.
    """
    told = msgspec.to_builtins(report, str_keys=True)
    for name in ("written", "losses", "unparsed_calls"):
        del told[name]

    if not told["control_tokens"]:
        del told["control_tokens"]

    return {"kind": kind, "path": path, **told}
