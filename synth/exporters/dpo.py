"""DPO data sets: one assistant turn against another after the same prefix, as `synth.pairs` finds
them.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from synth.datasets.release import LABELLED_TURNS
from synth.exporters.kind import Form, Kind, NotRepresentableError
from synth.exporters.labelled_turn import completion, label_settings, prompt_before, with_tools
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger
from synth.pairs import PairReport, PairRow, PairSettings, preference_pairs
from synth.schemas.model import Message
from synth.schemas.pairs import PreferencePair
from synth.schemas.trajectory import Trajectory
from synth.text.transcript.message_texts import Change, with_message, with_messages


class PreferenceRow(msgspec.Struct, frozen=True):
    """A pair as messages; tools are those of the trajectory that holds the prefix."""

    pair: PreferencePair
    trajectory: Trajectory
    prompt: list[Message]
    chosen: Message
    rejected: Message
    joined: bool = False

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory


def dpo_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[PreferenceRow]:
    """The pairs on the policy's own prefixes, or, where they are asked for, only the others."""
    report = PairReport()
    for found in preference_pairs(ledger, PairSettings(**label_settings(tally)), report):
        if found.pair.off_policy is not tally.settings.off_policy:
            tally.leaves("on_policy" if tally.settings.off_policy else "off_policy")
            continue
        try:
            row = tally.aside.tried(found.prompt.trajectory_id, partial(_row, found, tally))
        except NotRepresentableError as error:
            tally.leaves(f"{tally.form.name}:{error.reason}")
            continue
        if row is not None:
            yield row
    tally.take(report)
    tally.remarks += _remarks(report)


def _row(found: PairRow, tally: ExportCounts) -> PreferenceRow:
    """Raises `NotRepresentableError` where the form would change a side's calls."""
    sides = [
        completion(turn, tally, thoughts=not found.action_only)
        for turn in (found.chosen, found.rejected)
    ]
    prompt, joined = prompt_before(found.prompt, found.pair.prefix.turn, tally)
    return PreferenceRow(found.pair, found.prompt, prompt, sides[0], sides[1], joined)


def _remarks(report: PairReport) -> Iterator[str]:
    """What a reader of the card must know: whose turns stand on which side, and what gives the
    chosen side away.
    """
    for (prefix, chosen, rejected), count in sorted(report.policies.items()):
        yield f"Sampled by: prefix {prefix}, chosen {chosen}, rejected {rejected} ({count} pairs)."
    for name, length in sorted(report.lengths.items()):
        if length.auc is not None and length.auc_kept is not None:
            yield (
                f"Length alone tells chosen from rejected in {name}: AUC {length.auc:.2f}, "
                f"{length.auc_kept:.2f} of what was kept."
            )
    for name in sorted(report.style_confounded):
        features = ", ".join(report.styles[name].features[:5])
        yield (
            f"WARNING: {name} is style_confounded: style alone (without argument values) "
            f"gives the chosen side away: {features}."
        )


def _texts(row: PreferenceRow, form: Form, change: Change) -> PreferenceRow:
    return msgspec.structs.replace(
        row,
        prompt=with_messages(row.prompt, change),
        chosen=with_message(row.chosen, change),
        rejected=with_message(row.rejected, change),
        trajectory=with_tools(row.trajectory, change),
    )


def _counts(row: PreferenceRow, tally: ExportCounts) -> Mapping[str, int]:
    return {"trained_turns": 1, "joined": row.joined}


DPO = Kind(
    name="dpo",
    title="Preferences between single turns",
    one_row="One row is one assistant turn (`chosen`) against another (`rejected`) after the same "
    "`prompt`; the counts of the "
    "continuations that decided it stand in `q_pos` of `n_pos` and `q_neg` of `n_neg`, who "
    "sampled each part in `prefix_policy`, "
    "`chosen_policy`, `rejected_policy`.",
    rows=dpo_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: row.pair.pair_id,
    rule=LABELLED_TURNS,
)
