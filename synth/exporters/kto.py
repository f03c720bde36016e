"""KTO data sets: single turns called desirable or not, as `synth.pairs` finds them."""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from synth.datasets.release import LABELLED_TURNS
from synth.exporters.kind import Form, Kind, NotRepresentableError
from synth.exporters.labelled_turn import completion, label_settings, prompt_before, with_tools
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger
from synth.pairs import KtoReport, KtoRow, LabelSettings, kto_labels
from synth.schemas.model import Message
from synth.schemas.pairs import KtoLabel
from synth.schemas.trajectory import Trajectory
from synth.text.transcript.message_texts import Change, with_message, with_messages


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


def kto_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[DesirabilityRow]:
    """Desirable and undesirable turns, stratified."""
    report = KtoReport()
    for found in kto_labels(ledger, LabelSettings(**label_settings(tally)), report):
        try:
            row = tally.aside.tried(found.trajectory.trajectory_id, partial(_row, found, tally))
        except NotRepresentableError as error:
            tally.leaves(f"{tally.form.name}:{error.reason}")
            continue
        if row is not None:
            yield row
    tally.take(report)
    if report.weights is not None:
        desirable, undesirable = report.weights
        tally.remarks.append(
            f"Suggested: desirable_weight={desirable:.3g}, undesirable_weight={undesirable:.3g}."
        )


def _texts(row: DesirabilityRow, form: Form, change: Change) -> DesirabilityRow:
    return msgspec.structs.replace(
        row,
        prompt=with_messages(row.prompt, change),
        completion=with_message(row.completion, change),
        trajectory=with_tools(row.trajectory, change),
    )


def _row(found: KtoRow, tally: ExportCounts) -> DesirabilityRow:
    """Raises `NotRepresentableError` where the form would change the turn's calls."""
    said = completion(found.completion, tally)
    prompt, joined = prompt_before(found.trajectory, found.label.turn, tally)
    return DesirabilityRow(found.label, found.trajectory, prompt, said, joined)


def _counts(row: DesirabilityRow, tally: ExportCounts) -> Mapping[str, int]:
    return {
        "trained_turns": 1,
        "joined": row.joined,
        "desirable": row.label.desirable,
        "undesirable": not row.label.desirable,
    }


KTO = Kind(
    name="kto",
    title="Single turns, desirable or not",
    one_row="One row is one assistant turn (`completion`) after its `prompt`; `label` says whether it "
    "is desirable, `q` of `n` "
    "continuations after it passed.",
    rows=kto_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: (row.trajectory.trajectory_id, row.label.turn),
    rule=LABELLED_TURNS,
)
