"""`--check`: a data set written where nobody sees it, read back with its consumer's loader,
rendered and compared; then thrown away.

What is looked at, in this order: whether the loader gives the rows back, whether the consumer's own
code takes them, what is read of interchange forms, what carries loss under the student's template.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from synth.exporters.export import ExportReport, drawn, write
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings, Spelling, as_key
from synth.exporters.kinds.control_tokens import guarded
from synth.exporters.proof.consumers import consumer_findings
from synth.exporters.proof.reading import (
    READERS,
    Noted,
    ProofIssues,
    loaded,
    loading_findings,
    reading_findings,
    watched,
)
from synth.exporters.proof.rendering import rendering_findings
from synth.ledger.ledger import StoredLedger


class Proof(msgspec.Struct, frozen=True):
    """What an export would come to, and what was found of it."""

    report: ExportReport
    findings: ProofIssues

    @property
    def failed(self) -> list[str]:
        """What is wrong: an export without any of these has passed."""
        return self.findings.failed

    def lines(self) -> Iterator[str]:
        """One line per finding, what failed last."""
        found = self.findings
        yield from (f"proven: {line}" for line in found.proven)
        yield from (f"not proven: {line}" for line in found.unproven)
        yield from (f"FAILED: {line}" for line in found.failed)


def prove(
    kind: str,
    ledger: StoredLedger,
    settings: RowSettings,
    say: Spelling = as_key,
    unfinished: str | None = None,
) -> Proof:
    """Writes to a folder of its own, checks what stands there, and removes it."""
    findings = ProofIssues()
    tally, rows = drawn(kind, ledger, settings, say, unfinished)
    form = tally.form

    # beside the dataset, `datasets` is given a cache that nobody has used
    with tempfile.TemporaryDirectory(prefix="synth-check-") as place:
        folder, cache = Path(place) / kind, Path(place) / "cache"
        noted = list[Noted]()
        note = partial(watched, form=form, noted=noted)
        report = write(tally, rows, DatasetFolder(folder), watched=note)

        if report.rows:
            # first what any loader gives, then what this consumer makes of it
            read = partial(loaded, folder, cache, form)
            loading_findings(folder, cache, form, noted, findings)
            consumer_findings(tally, read, findings)

            # compiled rows are no trajectories, and no importer reads them as such
            if form.name in READERS and kind != "memory":
                # drawn a second time: rows are not kept in memory
                again = tally.anew()
                told = (one.row for one in guarded(rows(again), again))
                reading_findings(folder, read, form, told, findings)

            rendering_findings(tally, read, findings)

    return Proof(report, findings)
