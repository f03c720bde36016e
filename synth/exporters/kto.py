"""KTO data sets: single turns called desirable or not, as `synth.pairs` finds them."""

from collections.abc import Iterator, Mapping

import msgspec

from schemas.model import Message
from schemas.pairs import KtoLabel
from schemas.trajectory import Trajectory
from synth.exporters.kind import DECISIONS_ON_TEXT, Kind, UnsayableError
from synth.exporters.labelled_turn import completion, label_settings, prompt_before
from synth.exporters.tally import Tally
from synth.ledger.ledger import Ledger
from synth.pairs import KtoReport, LabelSettings, kto_labels


class DesirabilityRow(msgspec.Struct, frozen=True):
    """A labelled turn as messages."""

    label: KtoLabel
    trajectory: Trajectory
    prompt: list[Message]
    completion: Message
    joined: bool = False

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory


def kto_rows(ledger: Ledger, tally: Tally) -> Iterator[DesirabilityRow]:
    """Desirable and undesirable turns, stratified."""
    report = KtoReport()
    for found in kto_labels(ledger, LabelSettings(**label_settings(tally)), report):
        try:
            said = completion(found.completion, tally)
        except UnsayableError as error:
            tally.leaves(f"{tally.form.name}:{error.reason}")
            continue
        prompt, joined = prompt_before(found.trajectory, found.label.turn, tally)
        yield DesirabilityRow(found.label, found.trajectory, prompt, said, joined)
    tally.left_out.update(report.left_out)
    if report.weights is not None:
        desirable, undesirable = report.weights
        tally.remarks.append(f"Suggested: desirable_weight={desirable:.3g}, undesirable_weight={undesirable:.3g}.")


def _counts(row: DesirabilityRow, tally: Tally) -> Mapping[str, int]:
    return {"trained_turns": 1, "joined": row.joined, "desirable": row.label.desirable, "undesirable": not row.label.desirable}


KTO = Kind(
    name="kto",
    title="Single turns, desirable or not",
    one_row="One row is one assistant turn (`completion`) after its `prompt`; `label` says whether it is desirable, `q` of `n` "
    "continuations after it passed.",
    rows=kto_rows,
    counts=_counts,
    content=lambda row: (row.trajectory.trajectory_id, row.label.turn),
    honours=DECISIONS_ON_TEXT,
)
