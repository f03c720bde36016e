"""Datasets for trainers, from any ledger, and the proof that a trainer reads them as they are
meant.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from synth.api.opened import Ledger, stored
from synth.engine.funnel import funnel_table
from synth.engine.runs.unfinished import unfinished_line
from synth.engine.table import Table
from synth.exporters.export import ExportReport
from synth.exporters.export import export as exported
from synth.exporters.folder.dataset_folder import DatasetFolder, Replace
from synth.exporters.folder.in_run import dataset_in, folder_in
from synth.exporters.kind import RowSettings, as_flag, as_key
from synth.exporters.proof.check import Proof, prove
from synth.exporters.registry import require
from synth.flows.stages.export import summary
from synth.schemas import SynthError

PLAIN = RowSettings()
Told = Callable[[Table, Sequence[str]], None]
"""Told the funnel of a dataset, and what a person must know of it, before it stands."""


def export(
    ledger: Ledger | Path | str,
    kind: str,
    *,
    to: Path | str,
    as_: str | None = None,
    settings: RowSettings = PLAIN,
    overwrite: bool = False,
    flags: bool = False,
    told: Told = lambda funnel, lines: None,
) -> ExportReport:
    """Writes a dataset (sft, dpo, kto, prm, rl, attribution, memory) to a folder that
    `datasets.load_dataset` reads.

    `as_`: whose form the rows have (trl, llamafactory, axolotl, verl, ...), the kind's own without
    it. `settings`: what
    else is taken in. The decisions of filters are honoured, and what is left out is counted. With
    `flags` messages name settings as options of the command line. Raises `ConfigError`, and
    `SynthError` where there are no rows: then nothing is written.
    """
    chosen, say = _chosen(kind, as_, settings, flags=flags), as_flag if flags else as_key
    run = stored(ledger)
    unfinished = unfinished_line(run, "exported")

    def announce(report: ExportReport) -> None:
        notes = report.notes if report.empty is None else report.notes[:1] if unfinished else ()
        told(_funnel(report, kind, str(to)), notes)

    inside = folder_in(run, str(to))
    replace: Replace = "edited" if overwrite else "nothing"
    folder = (
        DatasetFolder(str(to), replace=replace, say=say)
        if inside is None
        else dataset_in(run, inside, replace=replace, say=say)
    )
    report = exported(kind, run, folder, chosen, say, announce, unfinished)
    if report.empty is not None:
        raise SynthError(f"{kind}: no rows, so {to} was not written: {report.empty}")
    return report


def check_export(
    ledger: Ledger | Path | str,
    kind: str,
    *,
    as_: str | None = None,
    student: str | None = None,
    settings: RowSettings = PLAIN,
    flags: bool = False,
    told: Told = lambda funnel, lines: None,
) -> Proof:
    """Proves the rows on their consumer's own loader, and with the chat template of a `student`;
    nothing is written.

    What is wrong stands in `failed` of what it gives. Raises `SynthError` where there are no rows.
    """
    chosen, say = _chosen(kind, as_, settings, flags=flags), as_flag if flags else as_key
    if student is not None:
        chosen = chosen.model_copy(update={"student": student})
    run = stored(ledger)
    proof = prove(kind, run, chosen, say, unfinished_line(run, "exported"))
    told(_funnel(proof.report, kind, ""), (*proof.report.notes, *proof.lines()))
    if proof.report.empty is not None:
        raise SynthError(f"{kind}: no rows to prove anything of: {proof.report.empty}")
    return proof


def _chosen(kind: str, form: str | None, settings: RowSettings, *, flags: bool) -> RowSettings:
    """The settings with another form, where one is named. Raises `ConfigError` for a form that the
    kind does not have.
    """
    form = settings.form if form is None else form
    require(kind, form, "--kind" if flags else "kind", "--as" if flags else "as_")
    return settings.model_copy(update={"form": form})


def _funnel(report: ExportReport, kind: str, to: str) -> Table:
    said_by_error = {"empty": None}
    counts = {**summary(report, kind, to), **said_by_error}
    return funnel_table({"export": {"kind": "export", "datasets": {kind: counts}}})
