"""`--check`: a data set written where nobody sees it, read back with its consumer's loader,
rendered and compared; then thrown away.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.control_tokens import as_the_flow_says, guarded
from synth.exporters.dataset_folder import DatasetFolder
from synth.exporters.export import ExportReport, records, tally_for, write_records
from synth.exporters.kind import Form, RowSettings, Spelling, as_key
from synth.exporters.proof.loading import LoadedFile, ProofIssues, loaded, loading_findings
from synth.exporters.proof.reading import READERS, reading_findings
from synth.exporters.proof.rendering import look_at, rendering_findings, transcript_findings
from synth.exporters.registry import kind_of
from synth.exporters.shards import FOLDER
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger

Rows = Callable[[], Iterable[Mapping[str, Any]]]
_PACKAGES = ("trl", "llamafactory", "axolotl", "verl", "atif")
"""Called as the forms are."""


def consumer_findings(folder: Path, tally: ExportCounts, rows: Rows, findings: ProofIssues) -> None:
    """TRL: its own test of conversations; LLaMA-Factory: its converter; ATIF: the models of the
    package `atif`; others: not proven.
    """
    name = tally.form.name
    if name not in _PACKAGES:
        return
    if find_spec(name) is None:
        findings.unproven.append(
            f"{name} is not installed here (pip install {name}): its own code was not asked"
        )
    elif name == "trl":
        _trl(tally, rows, findings)
    elif name == "atif":
        _atif(folder, findings)
    elif name == "llamafactory":
        _llamafactory(tally.form, rows, findings)
    else:
        findings.unproven.append(
            f"{name}: its own loader needs a training configuration, and was not asked"
        )


def _trl(tally: ExportCounts, rows: Rows, findings: ProofIssues) -> None:
    from trl.data_utils import is_conversational

    if tally.kind.name in ("prm", "rl"):
        return
    taken = [is_conversational(dict(row)) for row in rows()]
    strange = taken.count(False)
    findings.add(
        f"TRL takes all {len(taken)} rows for conversations",
        f"TRL does not take {strange} of {len(taken)} rows for conversations" if strange else None,
    )


def _llamafactory(form: Form, rows: Rows, findings: ProofIssues) -> None:
    try:
        from llamafactory.data.converter import SharegptDatasetConverter
        from llamafactory.data.parser import DatasetAttr
    except ImportError as error:
        findings.unproven.append(
            f"llamafactory is installed, and cannot be imported ({error}): its converter was not "
            "asked"
        )
        return

    (entry,) = json.loads(form.beside(("train.parquet",))["dataset_info.json"]).values()
    attributes = DatasetAttr("file", dataset_name="train.parquet")
    attributes.join(entry)
    convert = SharegptDatasetConverter(dataset_attr=attributes, data_args=None)
    taken = [bool(convert(dict(row))["_response"]) for row in rows()]
    dropped = taken.count(False)
    findings.add(
        f"LLaMA-Factory's converter takes all {len(taken)} rows",
        f"LLaMA-Factory leaves {dropped} of {len(taken)} rows out" if dropped else None,
    )


def _atif(folder: Path, findings: ProofIssues) -> None:
    from pydantic import ValidationError

    document: Any = import_module("atif").Trajectory
    paths, refused = sorted((folder / FOLDER).iterdir()), []
    for path in paths:
        try:
            document.model_validate_json(path.read_bytes())
        except ValidationError as error:
            refused.append(" ".join(str(error).split())[:160])
    findings.add(
        f"the package atif takes all {len(paths)} documents",
        f"the package atif refuses {len(refused)} of {len(paths)} documents: {refused[0]}"
        if refused
        else None,
    )


RENDERED = ("sft", "memory", "dpo", "kto", "prm")
"""Kinds whose rows trainers render with a chat template."""


class Proof(msgspec.Struct, frozen=True):
    """What an export would come to, and what was found of it."""

    report: ExportReport
    findings: ProofIssues

    @property
    def failed(self) -> list[str]:
        return self.findings.failed

    def lines(self) -> Iterator[str]:
        """One line per finding, what failed last."""
        for name, found in (
            ("proven", self.findings.proven),
            ("not proven", self.findings.unproven),
            ("FAILED", self.findings.failed),
        ):
            yield from (f"{name}: {line}" for line in found)


def prove(
    kind: str,
    ledger: Ledger,
    settings: RowSettings,
    say: Spelling = as_key,
    unfinished: str | None = None,
) -> Proof:
    """Writes to a folder of its own, checks what stands there, and removes it."""
    found, settings = kind_of(kind), as_the_flow_says(settings, ledger)
    with tempfile.TemporaryDirectory(prefix="synth-check-") as place:
        folder = Path(place) / kind
        tally = tally_for(found, lambda one: found.rows(ledger, one), settings, say)
        tally.unfinished = unfinished
        written = LoadedFile(tally.form)
        made = records(found.rows(ledger, tally), tally.form, tally)
        report = write_records(
            tally, written.watched(made), lambda one: found.rows(ledger, one), DatasetFolder(folder)
        )
        findings = ProofIssues()
        if report.rows:
            again = ExportCounts(found, settings, tally.form, say, per_turn=tally.per_turn)

            def rows() -> Iterator[Any]:
                return (one.row for one in guarded(found.rows(ledger, again), again))

            _check(folder, Path(place) / "cache", tally, written, rows, findings)
    return Proof(report, findings)


def _check(
    folder: Path,
    cache: Path,
    tally: ExportCounts,
    written: LoadedFile,
    rows: Callable[[], Iterable[Any]],
    findings: ProofIssues,
) -> None:
    form, student = tally.form, tally.settings.student

    def read() -> Iterator[dict[str, Any]]:
        return loaded(folder, cache, form)

    loading_findings(folder, cache, written, findings)
    consumer_findings(folder, tally, read, findings)
    if form.name in READERS and tally.kind.name != "memory":
        reading_findings(folder, read, form, rows(), findings)
    look = look_at(form, per_turn=tally.per_turn)
    if look is None:
        if tally.kind.name in RENDERED and form.layout != "files":
            findings.unproven.append(
                f"{form.name} renders with templates of its own: the student's template and what "
                "carries loss"
            )
    elif form.steps is not None and student is None:
        transcript_findings(read, form, findings)
    else:
        rendering_findings(read, look, student, findings)
