"""SFT data sets: chats, with the turns that carry loss."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import msgspec

from synth.datasets.release import Lineage, ReleaseRefusal, Why, counted
from synth.exporters.form import Form
from synth.exporters.kind import Kind, RowSettings
from synth.exporters.kinds.control_tokens import broken_link
from synth.exporters.kinds.readable import (
    Tools,
    has_private_thoughts,
    has_prompt,
    is_json_object,
    readable,
    unreadable,
)
from synth.exporters.kinds.sft_rows import (
    SftRow,
    assistant_places,
    in_runs,
    loss_characters,
    said_after,
    sft_row,
    trained_places,
    unrolled,
)
from synth.exporters.kinds.skills import with_skills
from synth.exporters.notes import remedial_setting
from synth.exporters.tally import MASKED, ExportCounts
from synth.filters.inferred import inferred_tools
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import StoredLedger
from synth.loss_turns import turns_without_loss
from synth.schemas import Trajectory, Verdict, to_messages
from synth.text.transcript.message_texts import (
    TOOLS,
    Change,
    with_check,
    with_messages,
    with_trajectory,
)

_NO_TOOLS: Tools = {}
Verdicts = Mapping[str, Verdict]


def sft_rows(
    trajectories: Iterable[tuple[Trajectory, Verdicts]],
    tally: ExportCounts,
    inferred: Tools = _NO_TOOLS,
) -> Iterator[SftRow]:
    """The rows that may be trained on, one at a time; the others are counted by their first
    reason. `inferred`: the tools that calls show, for chats without any.
    """
    for trajectory, verdicts in trajectories:
        made = partial(_row, trajectory, verdicts, tally, inferred)
        row = tally.made(trajectory.trajectory_id, made)

        if row is not None and tally.unroll == "per_turn":
            yield from unrolled(row, past_thoughts=tally.settings.past_thoughts)
        elif row is not None and tally.unroll == "context":
            yield from in_runs(row)
        elif row is not None:
            yield row


def _row(
    recorded: Trajectory, verdicts: Verdicts, tally: ExportCounts, inferred: Tools
) -> SftRow | Why:
    """The row, or why filters or the settings leave it out."""
    trajectory = readable(recorded, tally.settings, inferred)
    # a decision may say that turns carry no loss, where it takes a row as a recovery
    masks = {turn: why for one in verdicts.values() for turn, why in one.masks.items()}
    refused = _refusal(trajectory, verdicts, tally)

    if refused is not None:
        # what a filter dropped comes back by no setting of the row's own
        if not isinstance(refused, ReleaseRefusal) or not refused.by_filter:
            behind = _behind(refused, trajectory, verdicts, masks, tally)
            tally.behind[counted(refused)].update(behind)

        return refused

    row = sft_row(trajectory, tally.form, tally.settings, masks)
    row = msgspec.structs.replace(row, judged="; ".join(_judged(verdicts)))
    if not recorded.tools and trajectory.tools:
        row = msgspec.structs.replace(row, inferred_tools=True)

    return without_loss(trajectory, row.masked, tally) or row


def _judged(verdicts: Verdicts) -> Iterator[str]:
    """The agreement of each model that a verdict rests on, by filter."""
    for name, one in sorted(verdicts.items()):
        if one.keep and one.judged:
            yield f"{name}: {one.judged}"


def _behind(
    why: Why | None,
    trajectory: Trajectory,
    verdicts: Verdicts,
    masks: Mapping[int, str],
    tally: ExportCounts,
) -> Iterator[str]:
    """Why it would be left out next, and so on, where the setting that takes in such rows is set
    each time.
    """
    # each setting that takes the row in uncovers the next reason
    while why is not None and (remedy := remedial_setting(counted(why))):
        tally = tally.anew(**remedy)
        why = _refusal(trajectory, verdicts, tally) or without_loss(
            trajectory, turns_without_loss(trajectory, masks), tally
        )
        if why is not None:
            yield counted(why)


def without_loss(
    trajectory: Trajectory, masked: Mapping[int, str], tally: ExportCounts
) -> str | None:
    """Why it is left out for turns without loss, or None."""
    if len(masked) == len(trajectory.turns):
        return "no_trained_turn"
    cut = tally.unroll != "whole"
    if masked and not (cut or tally.form.masks or tally.settings.keep_masked):
        return f"masked_turns:{'+'.join(sorted(set(masked.values())))}"

    return None


def _refusal(trajectory: Trajectory, verdicts: Verdicts, tally: ExportCounts) -> Why | None:
    """Why a trajectory may not become a row, whatever its turns carry."""
    refusal = tally.refusal(Lineage(trajectory), verdicts)
    return refusal or next(unwritable(trajectory, tally), None)


def unwritable(trajectory: Trajectory, tally: ExportCounts) -> Iterator[str]:
    """Each reason of the settings and the form to leave it out, whatever the release rule says."""
    if tally.settings.require_tools and not trajectory.tools:
        yield "no_tool_schemas"
    yield from unreadable(trajectory, tally.settings)
    if not all(tally.form.holds(tool) for tool in trajectory.tools):
        yield "inexact_tool_schemas"
    if (link := broken_link(trajectory)) is not None:
        yield link


def chat_counts(row: SftRow, tally: ExportCounts) -> Mapping[str, int]:
    """What is added up over rows of chats. Turns of a row of one turn that stand before it are no
    turns without loss.
    """
    whole, loss = row.turn is None, loss_characters(row)
    counts = Counter(
        trained_turns=len(row.trained),
        loss_characters=loss,
        unparsed_calls=_unparsed(row),
        # it calls tools, and the schemas that the model was shown are not known
        without_tools=not row.trajectory.tools and any(m.get("tool_calls") for m in row.messages),
        without_prompt=not has_prompt(row.trajectory),
        private_thoughts=has_private_thoughts(row.trajectory),
        json_answers=_answers_in_json(row),
        tool_endings=whole and row.messages[-1]["role"] == "tool",
        inferred_tools=row.inferred_tools,
        joined=row.joined,
        recoveries=row.recovery,
        recovery_loss_characters=loss * row.recovery,
        cut_trajectories=row.pieces > 1 and not row.since,
    )
    if tally.settings.student is not None:
        counts.update(_loss_tokens(row, tally.settings.student))

    if whole:
        counts["with_masks"] = bool(row.masked)
        counts.update(MASKED + why for turn, why in row.masked.items() if turn >= row.since)

    return counts


def _unparsed(row: SftRow) -> int:
    """Calls with broken arguments that the row holds, and no earlier one of the trajectory."""
    shown = len(assistant_places(row.messages))
    own = row.trajectory.turns[row.since : shown] if row.turn is None else ()
    return sum(call.parse_error is not None for turn in own for call in turn.tool_calls)


def _answers_in_json(row: SftRow) -> bool:
    return any(is_json_object(row.messages[at]["content"]) for at in trained_places(row))


def chat_texts(row: SftRow, form: Form, change: Change) -> SftRow:
    """The row with its texts changed: messages, tool schemas, a kind's own columns; of traces also
    what stands behind the last turn.
    """
    one, messages = row.trajectory, with_messages(row.messages, change)
    tools = change(TOOLS, one.tools)
    extra = {name: change(name, value) for name, value in row.extra.items()}
    changed = (messages, tools, extra) != (row.messages, one.tools, row.extra)

    if not form.joins:  # written from the trajectory itself, with what stands behind its last turn
        whole = to_messages(one)
        behind = whole[len(whole) - said_after(one) :]
        changed |= with_messages(behind, change) != behind
        changed |= with_check(one.check_result, change) != one.check_result

    if not changed:
        return row

    return msgspec.structs.replace(
        row, messages=messages, trajectory=with_trajectory(one, change), extra=extra
    )


def _loss_tokens(row: SftRow, student: str) -> dict[str, int]:
    """Tokens of what carries loss as the student's template renders it; rows for which it cannot be
    told are counted as such.
    """
    from synth.exporters.template import student_template

    # the same text is counted once, however many rows have it
    template = student_template(student)
    answers = template.answers(row.messages, row.trajectory.tools)
    said = [answers[turn] for turn in row.trained]
    tokens = [None if text is None else template.count(text) for text in said]
    if None in tokens:
        return {"loss_not_counted": 1}

    return {"loss_tokens": sum(filter(None, tokens))}


def tools_of_calls(ledger: StoredLedger, settings: RowSettings) -> Tools:
    """The tools that calls show, for chats without any, where the settings ask for them."""
    return inferred_tools(ledger, values=False) if settings.infer_tools else _NO_TOOLS


def _rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[SftRow]:
    inferred = tools_of_calls(ledger, tally.settings)
    rows = sft_rows(with_decisions(ledger, tally.aside), tally, inferred)
    return with_skills(ledger, rows, tally)


SFT = Kind(
    name="sft",
    rows=_rows,
    texts=chat_texts,
    counts=chat_counts,
    content=lambda row: (row.messages, row.trajectory.tools),
)
