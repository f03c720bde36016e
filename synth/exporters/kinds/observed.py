"""Data sets of comparisons that collected trials suggest and no test has confirmed, kinds of their
own: `dpo_observed`, and the same acts one by one, `kto_observed`.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from synth.exporters.kinds.labelled import DPO, KTO, LabelledRow, pair_settings, told_rows
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import StoredLedger
from synth.pairs.observed.pair import ObservedSide
from synth.pairs.observed.report import ObservedReport
from synth.pairs.observed.rows import ObservedRow, observed_pairs


def pairs(ledger: StoredLedger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """Both acts after the prompt that they share."""
    for found, thoughts in _found(ledger, tally):
        sides = (found.chosen, found.rejected)
        row = LabelledRow(found.pair, found.prompt)
        yield from told_rows(tally, row, found.pair.depth, sides, thoughts=thoughts)


def sides(ledger: StoredLedger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """Each act by itself; whatever side a thought stands on alone, it is left out of both."""
    for found, thoughts in _found(ledger, tally):
        for good, turn in ((True, found.chosen), (False, found.rejected)):
            row = LabelledRow(ObservedSide(found.pair, desirable=good), found.prompt)
            yield from told_rows(tally, row, found.pair.depth, (turn,), thoughts=thoughts)


def _found(ledger: StoredLedger, tally: ExportCounts) -> Iterator[tuple[ObservedRow, bool]]:
    """Each comparison, and whether its thoughts are shown: on one side alone one would give the
    answer away.
    """
    report = ObservedReport()
    for found in observed_pairs(ledger, pair_settings(tally), report):
        yield found, bool(found.chosen.thought) is bool(found.rejected.thought)
    tally.take(report)
    tally.remarks += report.remarks()


DPO_OBSERVED = replace(DPO, name="dpo_observed", rows=pairs)
KTO_OBSERVED = replace(
    KTO,
    name="kto_observed",
    rows=sides,
    content=lambda row: (row.label.pair.pair_id, row.label.desirable),
)
