"""The stage `export`: datasets under RUN/datasets, written from what the flow has collected and
decided.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec
from pydantic import ConfigDict, Field, field_validator

from synth.engine.runs.unfinished import unfinished_line
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage import MethodStage
from synth.engine.study.stage_context import StageContext
from synth.exporters.export import ExportReport, export
from synth.exporters.folder.dataset_folder import Replace
from synth.exporters.folder.in_run import dataset_in, refuse_others
from synth.exporters.folder.manifest import why_to_write
from synth.exporters.kind import RowSettings
from synth.exporters.registry import form_of
from synth.ledger.atomic_write import dataset_fault
from synth.ledger.ledger import StageRef
from synth.schemas import Release

ALLOWED = (
    "include_scripted",
    "allow_benchmark",
    "allow_held_out",
    "include_evidence",
    "include_unverified",
)
"""Settings of an export that let rows leave which others keep back."""


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
        before = "" if self.name is None else f"{self.name}-"
        return {f"datasets/{before}{kind}": kind for kind in self.kinds}


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
        given = {name: any(getattr(one, name) for one in of_kind) for name in ALLOWED}
        masked = any(
            one.keep_masked or one.unroll != "whole" or form_of(kind, one.form).masks
            for one in of_kind
        )

        return cls(Release.model_validate(given), masked)

    @property
    def settings(self) -> Mapping[str, bool]:
        """For the key of the stage that goes by it."""
        words = {name.partition("_")[2]: getattr(self.release, name) for name in ALLOWED}
        return {**words, "masked": self.masked}


@synthesizer("export")
class ExportStage(Method):
    """Writes the folders of `ExportSettings.folders`."""

    unit = "datasets"
    shard: ClassVar[int] = 1
    config = ExportSettings
    settings: ExportSettings

    def key_settings(self) -> Mapping[str, Any]:
        """As in the flow; whether a card may be overwritten changes no row."""
        return self.settings.model_dump(mode="json", exclude={"overwrite"})

    def inputs(self, stage: StageContext) -> Any:
        """The collected trajectories, the stages that made or judged them, and which of these are
        not through.
        """
        state, unfinished = stage.run.ledger.state, self._unfinished(stage)
        keys = sorted({shard.stage_key for shard in state.visible()[0]})
        return [state.current_valid(), keys, *([] if unfinished is None else [unfinished])]

    def _unfinished(self, stage: StageContext) -> str | None:
        return unfinished_line(stage.run.ledger, "exported", before=stage.name)

    def units(self, stage: StageContext) -> Sequence[str]:
        """The folders."""
        return list(self.settings.folders())

    def left(self, stage: StageContext, units: Sequence[str]) -> Sequence[str]:
        """All, unless every dataset stands as this stage wrote it; one without rows stands
        nowhere.
        """
        ledger, again = stage.run.ledger, self.settings.overwrite
        done = ledger.state.done.get((stage.name, stage.stage_key))
        if done is None:
            return units

        problems = [
            # an edited card is left as it is unless the stage may overwrite it
            why_to_write(ledger.storage.path(folder), stage.stage_key)
            or dataset_fault(ledger, folder, card=again)
            for folder in (one["path"] for one in done["datasets"].values() if one["rows"])
        ]
        for problem in filter(None, problems):
            stage.run.progress.say(f"{stage.name}: {problem}; written again")

        return units if any(problems) else ()

    async def play(self, shard: ShardContext, units: Sequence[str]) -> None:
        """Writes one dataset."""
        run, (folder,) = shard.run, units
        kind, again = self.settings.folders()[folder], self.settings.overwrite
        flow, ref = run.flow.name, StageRef(shard.name, shard.stage_key)
        if not again:
            refuse_others(run.ledger, folder, flow, shard.name)

        def announce(report: ExportReport) -> None:
            for line in report.losses:
                run.progress.say(f"{shard.name} {kind}: {line}")

        replace: Replace = "edited" if again else "written"
        target = dataset_in(run.ledger, folder, replace=replace, flow=flow, ref=ref)
        rows = RowSettings(**self.settings.model_dump(exclude={"kinds", "name", "overwrite"}))
        unfinished = self._unfinished(shard)
        report = export(kind, run.ledger, target, rows, announce=announce, unfinished=unfinished)

        run.exports[folder] = summary(report, kind, folder)
        run.progress.step(1)
        # the folder stands by itself, named in the manifest: no shard is committed
        shard.of(folder).open = True

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Rows and what was left out, by dataset; none where a ceiling stopped the run before."""
        made = stage.run.exports
        names = {folder.rpartition("/")[2]: folder for folder in self.units(stage)}
        datasets = {name: made[folder] for name, folder in names.items() if folder in made}
        return {"kind": "export", "datasets": datasets}


def exports_among(stages: Iterable[Any]) -> Iterator[tuple[str, ExportSettings]]:
    """The export stages, each by its name with its settings."""
    for stage in stages:
        if isinstance(stage, MethodStage) and isinstance(stage.method, ExportStage):
            yield stage.name, stage.method.settings


def summary(report: ExportReport, kind: str, path: str) -> Mapping[str, Any]:
    """An export's report as it is kept and shown; the path of a flow's dataset is relative to the
    run, which may be moved.
    """
    told = msgspec.to_builtins(report, str_keys=True)
    left_out = ["written", "losses", "unparsed_calls"]
    for name in left_out if told["control_tokens"] else [*left_out, "control_tokens"]:
        del told[name]

    return {"kind": kind, "path": path, **told}
