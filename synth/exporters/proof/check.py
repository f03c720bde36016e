"""`--check`: a data set written where nobody sees it, read back with its consumer's loader,
rendered and compared; then thrown away.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from synth.exporters.control_tokens import as_the_flow_says, guarded
from synth.exporters.dataset_folder import DatasetFolder
from synth.exporters.export import ExportReport, records, tally_for, write_records
from synth.exporters.proof.consumers import consumer_findings
from synth.exporters.proof.findings import ProofIssues
from synth.exporters.proof.loading import Written, loaded, loading_findings
from synth.exporters.proof.reading import READERS, reading_findings
from synth.exporters.proof.rendering import look_at, rendering_findings, transcript_findings
from synth.exporters.registry import kind_of
from synth.exporters.settings import RowSettings
from synth.exporters.spelling import Spelling, as_key
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger

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
        written = Written(tally.form)
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
    written: Written,
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
