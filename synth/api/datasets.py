"""Datasets for trainers, from any ledger, and the proof that a trainer reads them as they are
meant.
"""

from collections.abc import Callable
from pathlib import Path

from synth.api.opened import Ledger, stored
from synth.engine.unfinished import unfinished_line
from synth.exporters.dataset_folder import DatasetFolder
from synth.exporters.export import ExportReport
from synth.exporters.export import export as exported
from synth.exporters.in_run import dataset_in, folder_in
from synth.exporters.proof.check import Proof, prove
from synth.exporters.registry import require
from synth.exporters.settings import RowSettings
from synth.exporters.spelling import Spelling, as_key
from synth.ledger.ledger import Ledger as StoredLedger
from synth.schemas.errors import SynthError

PLAIN = RowSettings()


def export(
    ledger: Ledger | Path | str,
    kind: str,
    *,
    to: Path | str,
    as_: str | None = None,
    settings: RowSettings = PLAIN,
    overwrite: bool = False,
) -> ExportReport:
    """Writes a dataset (sft, dpo, kto, prm, rl, attribution, memory) to a folder that
    `datasets.load_dataset` reads.

    `as_`: whose form the rows have (trl, llamafactory, axolotl, verl, ...), the kind's own without
    it. `settings`: what
    else is taken in. The decisions of filters are honoured, and what is left out is counted. Raises
    `ConfigError`, and
    `SynthError` where there are no rows: then nothing is written.
    """
    require(kind, as_, "kind", "as_")
    run = stored(ledger)
    report = write_dataset(run, kind, str(to), in_form(settings, as_), overwrite=overwrite)
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
) -> Proof:
    """Proves the rows on their consumer's own loader, and with the chat template of a `student`;
    nothing is written.

    What is wrong stands in `failed` of what it gives. Raises `SynthError` where there are no rows.
    """
    require(kind, as_, "kind", "as_")
    chosen = in_form(settings, as_)
    if student is not None:
        chosen = chosen.model_copy(update={"student": student})
    proof = prove_dataset(stored(ledger), kind, chosen)
    if proof.report.empty is not None:
        raise SynthError(f"{kind}: no rows to prove anything of: {proof.report.empty}")
    return proof


def write_dataset(
    run: StoredLedger,
    kind: str,
    to: str,
    settings: RowSettings,
    *,
    overwrite: bool = False,
    say: Spelling = as_key,
    announce: Callable[[ExportReport], None] = lambda report: None,
) -> ExportReport:
    """The same in the words of whoever asks (`say`), who is told by `announce` what it comes to
    before any of it stands.
    """
    inside = folder_in(run, to)
    if inside is None:
        folder = DatasetFolder(to, replace="edited" if overwrite else "nothing", say=say)
    else:
        folder = dataset_in(run, inside, replace="edited" if overwrite else "nothing", say=say)
    return exported(kind, run, folder, settings, say, announce, unfinished_line(run, "exported"))


def prove_dataset(
    run: StoredLedger, kind: str, settings: RowSettings, *, say: Spelling = as_key
) -> Proof:
    """The proof of a dataset in the words of whoever asks, also of one without rows."""
    return prove(kind, run, settings, say, unfinished_line(run, "exported"))


def in_form(settings: RowSettings, form: str | None) -> RowSettings:
    """The settings with another form, where one is named."""
    return settings if form is None else settings.model_copy(update={"form": form})
