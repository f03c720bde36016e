"""SFT data sets: chats, with the turns that carry loss."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import msgspec

from synth.datasets.left_out import counted
from synth.datasets.release import Lineage, ReleaseRefusal
from synth.exporters.control_tokens import broken_link
from synth.exporters.kind import Form, Kind
from synth.exporters.notes import remedial_setting
from synth.exporters.sft_rows import (
    SftRow,
    joined_answers,
    loss_characters,
    said_after,
    sft_row,
    unrolled,
)
from synth.exporters.skills import with_skills
from synth.exporters.tally import ExportCounts, masked_key
from synth.ledger.decisions import with_decisions
from synth.loss_turns import turns_without_loss
from synth.schemas.messages import to_messages
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.text.transcript.message_texts import (
    TOOLS,
    Change,
    with_check,
    with_messages,
    with_trajectory,
)


def sft_rows(
    trajectories: Iterable[tuple[Trajectory, Mapping[str, Verdict]]], tally: ExportCounts
) -> Iterator[SftRow]:
    """The rows that may be trained on, one at a time; the others are counted by their first
    reason.
    """
    for trajectory, verdicts in trajectories:
        row = tally.aside.tried(
            trajectory.trajectory_id, partial(_row, trajectory, verdicts, tally)
        )
        if row is None:
            continue
        if tally.leaves(_without_loss(row.trajectory, row.masked, tally)):
            continue
        if tally.per_turn:
            yield from unrolled(row, past_thoughts=tally.settings.past_thoughts)
        else:
            yield row


def _row(
    trajectory: Trajectory, verdicts: Mapping[str, Verdict], tally: ExportCounts
) -> SftRow | None:
    """The row, None where filters or the settings leave it out."""
    masks = {turn: why for one in verdicts.values() for turn, why in one.masks.items()}
    refused = _refusal(trajectory, verdicts, tally)
    if refused is not None:
        tally.leaves(refused)
        if not isinstance(refused, ReleaseRefusal) or not refused.by_filter:
            name = counted(refused)
            tally.behind[name].update(_behind(name, trajectory, verdicts, masks, tally))
        return None
    row = sft_row(
        trajectory,
        tally.form,
        arguments=tally.settings.arguments,
        thoughts=tally.settings.thoughts,
        masks=masks,
    )
    if tally.settings.join_answers and tally.form.joins:
        messages = joined_answers(row.messages)
        row = msgspec.structs.replace(
            row, messages=messages, joined=len(messages) < len(row.messages)
        )
    return row


def _behind(
    refused: str,
    trajectory: Trajectory,
    verdicts: Mapping[str, Verdict],
    masks: Mapping[int, str],
    tally: ExportCounts,
) -> Iterator[str]:
    """Why it would be left out next, and so on, where the setting that takes in such rows is set
    each time.
    """
    reason: str | None = refused
    while reason is not None and (remedy := remedial_setting(reason)) is not None:
        tally = tally.with_setting(*remedy)
        why = _refusal(trajectory, verdicts, tally) or _without_loss(
            trajectory, turns_without_loss(trajectory, masks), tally
        )
        reason = None if why is None else counted(why)
        if reason is not None:
            yield reason


def _without_loss(
    trajectory: Trajectory, masked: Mapping[int, str], tally: ExportCounts
) -> str | None:
    """Why it is left out for turns without loss, or None."""
    if len(masked) == len(trajectory.turns):
        return "no_trained_turn"
    if masked and not (tally.per_turn or tally.form.masks or tally.settings.keep_masked):
        return f"masked_turns:{'+'.join(sorted(set(masked.values())))}"
    return None


def _refusal(
    trajectory: Trajectory, verdicts: Mapping[str, Verdict], tally: ExportCounts
) -> ReleaseRefusal | str | None:
    refusal = tally.refusal(Lineage(trajectory), verdicts)
    if refusal is not None:
        return refusal
    if tally.settings.require_tools and not trajectory.tools:
        return "no_tool_schemas"
    if not all(tally.form.holds(tool) for tool in trajectory.tools):
        return "inexact_tool_schemas"
    return broken_link(trajectory)


def chat_counts(row: SftRow, tally: ExportCounts) -> Mapping[str, int]:
    """What is added up over rows of chats. Turns of a row of one turn that stand before it are no
    turns without loss.
    """
    turns = row.trajectory.turns if row.turn is None else ()
    counts = {
        "trained_turns": len(row.trained),
        "loss_characters": loss_characters(row),
        "unparsed_calls": sum(
            call.parse_error is not None for turn in turns for call in turn.tool_calls
        ),
        "without_tools": _lacks_tools(row),
        "joined": row.joined,
        "recoveries": row.recovery,
        "recovery_loss_characters": loss_characters(row) * row.recovery,
    }
    if tally.settings.student is not None:
        counts |= _loss_tokens(row, tally.settings.student)
    if row.turn is None:
        counts["with_masks"] = bool(row.masked)
        for reason in row.masked.values():
            counts[masked_key(reason)] = counts.get(masked_key(reason), 0) + 1
    return counts


def chat_texts(row: SftRow, form: Form, change: Change) -> SftRow:
    """The row with its texts changed: messages, tool schemas, a kind's own columns; of traces also
    what stands behind the last turn.
    """
    messages = with_messages(row.messages, change)
    tools = change(TOOLS, row.trajectory.tools)
    extra = {name: change(name, value) for name, value in row.extra.items()}
    changed = (messages, tools, extra) != (row.messages, row.trajectory.tools, row.extra)
    if not form.joins:  # written from the trajectory itself, with what stands behind its last turn
        whole = to_messages(row.trajectory)
        behind = whole[len(whole) - said_after(row.trajectory) :]
        changed |= with_messages(behind, change) != behind
        changed |= with_check(row.trajectory.check_result, change) != row.trajectory.check_result
    if not changed:
        return row
    return msgspec.structs.replace(
        row, messages=messages, trajectory=with_trajectory(row.trajectory, change), extra=extra
    )


def _loss_tokens(row: SftRow, student: str) -> dict[str, int]:
    """Tokens of what carries loss as the student's template renders it; rows for which it cannot be
    told are counted as such.
    """
    from synth.exporters.proof.template import student_template

    template = student_template(student)
    answers = template.answers(row.messages, row.trajectory.tools)
    tokens = [
        None if answers[turn] is None else template.count(answers[turn] or "")
        for turn in row.trained
    ]
    if any(count is None for count in tokens):
        return {"loss_not_counted": 1}
    return {"loss_tokens": sum(count or 0 for count in tokens)}


def _lacks_tools(row: SftRow) -> bool:
    """Whether it calls tools, and the schemas that the model was shown are not known."""
    return not row.trajectory.tools and any(message.get("tool_calls") for message in row.messages)


SFT = Kind(
    name="sft",
    title="Agent trajectories for supervised fine-tuning",
    one_row="`messages` as the model saw them, `tools` as their schemas were shown to it, and where "
    "they come from. `trained_turns` are "
    "the assistant messages (counted from 0) that carry loss, `masked_turns` the others with the "
    "reason. `outcome` is `success` where the "
    "environment's own check passed, or, in rows that were imported, where their source says so: "
    "a reward of at least 1 unless it names "
    "the outcome itself. `reward` is the number that the environment or the source gave.",
    rows=lambda ledger, tally: with_skills(
        ledger, sft_rows(with_decisions(ledger, tally.aside), tally), tally
    ),
    texts=chat_texts,
    counts=chat_counts,
    content=lambda row: (row.messages, row.trajectory.tools),
)
