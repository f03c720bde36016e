"""Data sets of single assistant turns after what stood before them, as `synth.pairs` finds them:
preferences (dpo), turns called desirable or not (kto), steps with what they are worth (prm).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from synth.datasets.release import LABELLED_TURNS
from synth.exporters.forms.columns import plain_text
from synth.exporters.kind import Form, Kind, NotRepresentableError
from synth.exporters.sft_rows import joined_answers, with_objects
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger
from synth.pairs import (
    KtoReport,
    LabelSettings,
    PairReport,
    PairSettings,
    StepReport,
    kto_labels,
    preference_pairs,
    step_labels,
)
from synth.schemas.messages import to_messages, turn_messages
from synth.schemas.model import Message
from synth.schemas.release import Release
from synth.schemas.trajectory import ToolSchema, Trajectory, Turn
from synth.text.transcript.message_texts import TOOLS, Change, with_message, with_messages

Render = Callable[[Sequence[Message], Sequence[ToolSchema]], str]


class LabelledRow(Struct, frozen=True):
    """A label on turns that follow one prompt; tools are those of the trajectory that holds the
    prompt. `answers`: chosen and rejected of a preference, else the one turn.

    `render`, `texts`: of a step, its prompt and itself as text, since step trainers read strings.
    """

    label: Any
    trajectory: Trajectory
    prompt: list[Message]
    answers: tuple[Message, ...]
    joined: bool = False
    render: Render | None = None
    texts: tuple[str, ...] = ()

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory

    def rendered(self) -> "LabelledRow":
        """With the texts of prompt and step. Raises `NotRepresentableError` where the template
        renders the prompt otherwise once the step is there.
        """
        if self.render is None:
            return self
        tools = self.trajectory.tools
        before = self.render(self.prompt, tools)
        after = self.render([*self.prompt, *self.answers], tools)
        if not after.startswith(before):
            raise NotRepresentableError("template_changes_the_prompt")
        return replace(self, texts=(before, after[len(before) :]))


def _labels(tally: ExportCounts) -> dict[str, Any]:
    """`student` of the export is a template, not a policy, and stays here."""
    return tally.settings.model_dump(include={*Release.model_fields, "include_statistical"})


def dpo_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """The pairs on the policy's own prefixes, or, where they are asked for, only the others."""
    report = PairReport()
    for found in preference_pairs(ledger, PairSettings(**_labels(tally)), report):
        if found.pair.off_policy is not tally.settings.off_policy:
            tally.leaves("on_policy" if tally.settings.off_policy else "off_policy")
            continue
        turns = (found.chosen, found.rejected)
        yield from _row(
            tally,
            LabelledRow(found.pair, found.prompt, [], ()),
            found.pair.prefix.turn,
            turns,
            thoughts=not found.action_only,
        )
    tally.take(report)
    tally.remarks += report.remarks()


def kto_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """Desirable and undesirable turns, stratified."""
    report = KtoReport()
    for one in kto_labels(ledger, LabelSettings(**_labels(tally)), report):
        row = LabelledRow(one.label, one.trajectory, [], ())
        yield from _row(tally, row, one.label.turn, (one.step,))
    tally.take(report)
    if report.weights is not None:
        desirable, undesirable = report.weights
        tally.remarks.append(
            f"Suggested: desirable_weight={desirable:.3g}, undesirable_weight={undesirable:.3g}."
        )


def prm_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[LabelledRow]:
    """Steps with a label, or with a soft value alone where nothing decided them."""
    render, report = _renderer(tally.settings.student), StepReport()
    for one in step_labels(ledger, LabelSettings(**_labels(tally)), report):
        row = LabelledRow(one.label, one.trajectory, [], (), render=render)
        yield from _row(tally, row, one.label.turn, (one.step,))
    tally.take(report)
    if tally.settings.student is None:
        tally.remarks.append(
            "Prompts and steps are plain transcripts; with a student (`student`, --student) its "
            "chat template renders them."
        )


def _row(
    tally: ExportCounts,
    row: LabelledRow,
    turn: int,
    turns: Iterable[Turn],
    *,
    thoughts: bool = True,
) -> Iterator[LabelledRow]:
    """The row with its messages; none where the form would change a turn's calls."""
    told = partial(_told, tally, row, turn, turns, thoughts=thoughts and tally.settings.thoughts)
    try:
        made = tally.aside.tried(row.trajectory.trajectory_id, told)
    except NotRepresentableError as error:
        made = f"{tally.form.name}:{error.reason}"
    if isinstance(made, LabelledRow):
        yield made
    else:
        tally.leaves(made)


def _told(
    tally: ExportCounts, row: LabelledRow, turn: int, turns: Iterable[Turn], *, thoughts: bool
) -> LabelledRow | str:
    """What the policy saw before the turn, its past thoughts only where they are asked for, and
    the turns as the assistant's messages; or why their texts cannot be had.
    """
    settings, form, recorded = tally.settings, tally.form, row.trajectory.turns[:turn]
    as_objects = (settings.arguments or form.arguments) == "dict"
    answers = []
    for one in turns:
        (message, *_) = turn_messages(one, thoughts=thoughts)
        if as_objects and any(call.parse_error is not None for call in one.tool_calls):
            raise NotRepresentableError("broken_arguments")
        if as_objects and not with_objects(one, message, form.holds):
            raise NotRepresentableError("inexact_arguments")
        answers.append(message)
    prompt = to_messages(replace(row.trajectory, turns=recorded), thoughts=settings.past_thoughts)
    if as_objects:
        said = [message for message in prompt if message["role"] == "assistant"]
        for one, message in zip(recorded, said, strict=True):
            with_objects(one, message, form.holds)
    joined = joined_answers(prompt) if settings.join_answers else prompt
    try:
        return replace(
            row, prompt=joined, answers=tuple(answers), joined=len(joined) < len(prompt)
        ).rendered()
    except NotRepresentableError as error:
        return error.reason


def _texts(row: LabelledRow, form: Form, change: Change) -> LabelledRow:
    """The messages and tool schemas changed, and rendered again where they were."""
    changed = replace(
        row,
        prompt=with_messages(row.prompt, change),
        answers=tuple(with_message(message, change) for message in row.answers),
        trajectory=replace(row.trajectory, tools=change(TOOLS, row.trajectory.tools)),
    )
    return row if changed == row else changed.rendered()


def _renderer(student: str | None) -> Render:
    if student is None:
        return transcript
    from synth.exporters.proof.template import served_template

    template = served_template(student)
    return lambda messages, tools: template.text(
        messages, tools, generation_prompt=messages[-1]["role"] != "assistant"
    )


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
    return {"trained_turns": 1, "joined": row.joined}


DPO = Kind(
    name="dpo",
    title="Preferences between single turns",
    one_row="One row is one assistant turn (`chosen`) against another (`rejected`) after the same "
    "`prompt`; the counts of the continuations that decided it stand in `q_pos` of `n_pos` and "
    "`q_neg` of `n_neg`, who sampled each part in `prefix_policy`, `chosen_policy`, "
    "`rejected_policy`.",
    rows=dpo_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: row.label.pair_id,
    rule=LABELLED_TURNS,
)
KTO = Kind(
    name="kto",
    title="Single turns, desirable or not",
    one_row="One row is one assistant turn (`completion`) after its `prompt`; `label` says whether it "
    "is desirable, `q` of `n` continuations after it passed.",
    rows=kto_rows,
    texts=_texts,
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
    title="Steps, and what they are worth",
    one_row="One row is one step (`completions`, one text) after its `prompt`; `labels` says whether "
    "it was good, `successes` of `n` continuations after it passed (`q`: the soft label), `tier` on "
    "what it stands: E1 continuations that were played, E2 a rule of the check, E3 statistics.",
    rows=prm_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: (*row.texts, row.label.source),
    rule=LABELLED_TURNS,
)
