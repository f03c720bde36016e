"""Data sets of single assistant turns after what stood before them, as `synth.pairs` finds them:
preferences (dpo), turns called desirable or not (kto), steps with what they are worth (prm).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from synth.datasets.release import LABELLED_TURNS
from synth.exporters.exact_json import plain_text
from synth.exporters.form import Form, NotRepresentableError
from synth.exporters.kind import Kind
from synth.exporters.kinds.sft_rows import inexact, joined_answers
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import StoredLedger
from synth.pairs import (
    KtoReport,
    PairReport,
    PairSettings,
    StepReport,
    kto_labels,
    paired_steps,
    preference_pairs,
)
from synth.schemas import Message, Release, ToolSchema, Trajectory, Turn, to_messages, turn_messages
from synth.text.transcript.message_texts import TOOLS, Change, with_messages

Render = Callable[[Sequence[Message], Sequence[ToolSchema]], str]


class LabelledRow(Struct, frozen=True):
    """A label on turns that follow one prompt; tools are those of the trajectory that holds the
    prompt. `answers`: chosen and rejected of a preference, else the one turn.

    `render`, `texts`: of a step, its prompt and itself as text, since step trainers read strings.
    """

    label: Any
    trajectory: Trajectory
    prompt: list[Message] = []
    answers: tuple[Message, ...] = ()
    joined: bool = False
    render: Render | None = None
    texts: tuple[str, ...] = ()

    def rendered(self) -> "LabelledRow":
        """With the texts of prompt and step. Raises `NotRepresentableError` where the template
        renders the prompt otherwise once the step is there.
        """
        if self.render is None:
            return self

        tools = self.trajectory.tools
        # the step is what the rendering gains by it
        before = self.render(self.prompt, tools)
        after = self.render([*self.prompt, *self.answers], tools)
        if not after.startswith(before):
            raise NotRepresentableError("template_changes_the_prompt")

        return replace(self, texts=(before, after[len(before) :]))


def pair_settings(tally: ExportCounts) -> PairSettings:
    """`student` of the export is a template, not a policy, and stays here."""
    names = {*Release.model_fields, "include_statistical"}
    return PairSettings(**tally.settings.model_dump(include=names))


def dpo_rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """The pairs on the policy's own prefixes, or, where they are asked for, only the others."""
    report = PairReport()

    for found in preference_pairs(ledger, pair_settings(tally), report):
        pair, wanted = found.pair, tally.settings.off_policy

        if wanted == "both" or pair.off_policy is wanted:
            # a thought on one side alone would give the answer away
            row, sides = LabelledRow(pair, found.prompt), (found.chosen, found.rejected)
            yield from told_rows(
                tally, row, pair.prefix.turn, sides, thoughts=not found.action_only
            )
        else:
            tally.leaves("off_policy" if pair.off_policy else "on_policy")

    tally.take(report)
    tally.remarks += report.remarks()


def kto_rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """Desirable and undesirable turns, stratified."""
    report = KtoReport()
    for one in kto_labels(ledger, pair_settings(tally), report):
        yield from told_rows(
            tally, LabelledRow(one.label, one.trajectory), one.label.turn, (one.step,)
        )

    tally.take(report)
    tally.remarks += report.remarks()


def prm_rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """Steps with a label, in pairs of the same tools, or with a soft value alone."""
    render: Render = transcript
    if (student := tally.settings.student) is not None:
        from synth.exporters.template import served_template

        render = served_template(student).opened

    report = StepReport()
    for one in paired_steps(ledger, pair_settings(tally), report):
        row = LabelledRow(one.label, one.trajectory, render=render)
        yield from told_rows(tally, row, one.label.turn, (one.step,))

    tally.take(report)
    tally.remarks += report.remarks()

    if student is None:
        tally.remarks.append(
            "Prompts and steps are plain transcripts; with a student (`student`, --student) its "
            "chat template renders them."
        )


def told_rows(
    tally: ExportCounts,
    row: LabelledRow,
    turn: int,
    turns: Sequence[Turn],
    *,
    thoughts: bool = True,
) -> Iterator[LabelledRow]:
    """The row with what the policy saw before the turn, its past thoughts only where they are asked
    for, and the turns as the assistant's messages; none where their texts cannot be had.
    """
    settings, form, recorded = tally.settings, tally.form, row.trajectory.turns[:turn]

    def made() -> LabelledRow | str:
        """The whole row, or under which name it is left out."""
        answers = [turn_messages(one, thoughts=thoughts and settings.thoughts)[0] for one in turns]
        shown = replace(row.trajectory, turns=recorded)
        prompt = to_messages(shown, thoughts=settings.past_thoughts)

        if (settings.arguments or form.arguments) == "dict":
            if (refused := _refused_arguments(turns, answers, form)) is not None:
                return refused

            # of earlier turns arguments that cannot be held stay text: nothing is trained there
            inexact(recorded, prompt, form.holds)

        joined = joined_answers(prompt) if settings.join_answers else prompt
        changed = len(joined) < len(prompt)
        whole = replace(row, prompt=joined, answers=tuple(answers), joined=changed)

        try:
            return whole.rendered()
        except NotRepresentableError as error:
            return error.reason

    found = tally.made(row.trajectory.trajectory_id, made)
    if found is not None:
        yield found


def _refused_arguments(turns: Sequence[Turn], answers: Sequence[Message], form: Form) -> str | None:
    """Puts the arguments of answers in as objects; why the form cannot hold them."""
    if any(call.parse_error is not None for one in turns for call in one.tool_calls):
        return f"{form.name}:broken_arguments"
    return f"{form.name}:inexact_arguments" if inexact(turns, answers, form.holds) else None


def texts_of(row: LabelledRow, form: Form, change: Change) -> LabelledRow:
    """The messages and tool schemas changed, and rendered again where they were."""
    # rendered anew only where something was changed
    prompt = with_messages(row.prompt, change)
    answers = tuple(with_messages(row.answers, change))
    shown = replace(row.trajectory, tools=change(TOOLS, row.trajectory.tools))
    changed = replace(row, prompt=prompt, answers=answers, trajectory=shown)

    return row if changed == row else changed.rendered()


def transcript(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
    """A plain rendering: role, text and calls of each message, after the tools."""
    written = [f"tools: {plain_text(tools)}\n\n"] if tools else []

    for message in messages:
        lines = [message[key] for key in ("reasoning_content", "content") if message.get(key)]

        for call in message.get("tool_calls", ()):
            given = call["function"]["arguments"]
            text = given if isinstance(given, str) else plain_text(given)
            lines.append(f"{call['function']['name']} {text}")

        written.append(f"{message['role']}: " + "\n".join(lines) + "\n\n")

    return "".join(written)


def _counts(row: LabelledRow, tally: ExportCounts) -> Mapping[str, int]:
    """One turn carries loss; how much of it is not counted."""
    return {"trained_turns": 1, "joined": row.joined}


DPO = Kind(
    name="dpo",
    rows=dpo_rows,
    texts=texts_of,
    counts=_counts,
    content=lambda row: row.label.pair_id,
    rule=LABELLED_TURNS,
)
KTO = Kind(
    name="kto",
    rows=kto_rows,
    texts=texts_of,
    # the same, and which class the row belongs to
    counts=lambda row, tally: {
        **_counts(row, tally),
        "desirable": row.label.desirable,
        "undesirable": not row.label.desirable,
    },
    content=lambda row: (row.trajectory.trajectory_id, row.label.turn),
    rule=LABELLED_TURNS,
)
PRM = Kind(
    name="prm",
    rows=prm_rows,
    texts=texts_of,
    counts=_counts,
    content=lambda row: (*row.texts, row.label.source),
    rule=LABELLED_TURNS,
)
