"""PRM data sets: steps with what they are worth, as `synth.pairs` finds them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from synth.datasets.release import LABELLED_TURNS
from synth.exporters.json_columns import plain_text
from synth.exporters.kind import Form, Kind, NotRepresentableError
from synth.exporters.labelled_turn import completion, label_settings, prompt_before, with_tools
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger
from synth.pairs import LabelSettings, StepReport, StepRow, step_labels
from synth.schemas.model import Message
from synth.schemas.pairs import StepLabel
from synth.schemas.trajectory import ToolSchema, Trajectory
from synth.text.transcript.message_texts import Change, with_message, with_messages

Render = Callable[[Sequence[Message], Sequence[ToolSchema]], str]


class StepValueRow(msgspec.Struct, frozen=True):
    """A labelled step; `prompt_text` and `step_text` are its prompt and itself rendered, since step
    trainers read strings.
    """

    label: StepLabel
    trajectory: Trajectory
    prompt: list[Message]
    step: Message
    prompt_text: str
    step_text: str
    render: Render
    joined: bool = False

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory


def prm_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[StepValueRow]:
    """Steps with a label, or with a soft value alone where nothing decided them."""
    render = _renderer(tally)
    report = StepReport()
    for found in step_labels(ledger, LabelSettings(**label_settings(tally)), report):
        try:
            row = tally.aside.tried(
                found.trajectory.trajectory_id, partial(_row, found, tally, render)
            )
        except NotRepresentableError as error:
            tally.leaves(f"{tally.form.name}:{error.reason}")
            continue
        if isinstance(row, str):
            tally.leaves(row)
        elif row is not None:
            yield row
    tally.take(report)
    if tally.settings.student is None:
        tally.remarks.append(
            "Prompts and steps are plain transcripts; with a student (`student`, --student) its "
            "chat template renders them."
        )


def _rendered(
    prompt: list[Message], step: Message, tools: Sequence[ToolSchema], render: Render
) -> tuple[str, str]:
    """The texts of a prompt and of the step after it. Raises `NotRepresentableError` where the template
    renders the prompt otherwise then.
    """
    before, after = render(prompt, tools), render([*prompt, step], tools)
    if not after.startswith(before):
        raise NotRepresentableError("template_changes_the_prompt")
    return before, after[len(before) :]


def _texts(row: StepValueRow, form: Form, change: Change) -> StepValueRow:
    """The messages changed, and rendered again where they were."""
    prompt, step = with_messages(row.prompt, change), with_message(row.step, change)
    trajectory = with_tools(row.trajectory, change)
    if (prompt, step, trajectory.tools) == (row.prompt, row.step, row.trajectory.tools):
        return row
    before, after = _rendered(prompt, step, trajectory.tools, row.render)
    return msgspec.structs.replace(
        row, prompt=prompt, step=step, trajectory=trajectory, prompt_text=before, step_text=after
    )


def _row(found: StepRow, tally: ExportCounts, render: Render) -> StepValueRow | str:
    """The row, or why there is none. Raises `NotRepresentableError` where the form would change the step's
    calls.
    """
    step = completion(found.step, tally)
    prompt, joined = prompt_before(found.trajectory, found.label.turn, tally)
    try:
        texts = _rendered(prompt, step, found.trajectory.tools, render)
    except NotRepresentableError as error:
        return error.reason
    return StepValueRow(found.label, found.trajectory, prompt, step, *texts, render, joined)


def _renderer(tally: ExportCounts) -> Render:
    if tally.settings.student is None:
        return transcript
    from synth.exporters.proof.template import served_template

    template = served_template(tally.settings.student)
    return lambda messages, tools: template.text(
        messages, tools, generation_prompt=messages[-1]["role"] != "assistant"
    )


def transcript(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
    """A plain rendering: role, text and calls of each message, after the tools."""
    head = f"tools: {plain_text(tools)}\n\n" if tools else ""
    return head + "".join(_told(message) for message in messages)


def _told(message: Message) -> str:
    lines = [text for text in (message.get("reasoning_content"), message.get("content")) if text]
    lines += [
        f"{call['function']['name']} {_arguments(call['function']['arguments'])}"
        for call in message.get("tool_calls", ())
    ]
    return f"{message['role']}: " + "\n".join(lines) + "\n\n"


def _arguments(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else plain_text(arguments)


def _counts(row: StepValueRow, tally: ExportCounts) -> Mapping[str, int]:
    return {"trained_turns": 1, "joined": row.joined}


PRM = Kind(
    name="prm",
    title="Steps, and what they are worth",
    one_row="One row is one step (`completions`, one text) after its `prompt`; `labels` says whether "
    "it was good, `successes` of `n` "
    "continuations after it passed (`q`: the soft label), `tier` on what it stands: E1 "
    "continuations that were played, E2 a rule of the "
    "check, E3 statistics.",
    rows=prm_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: (row.prompt_text, row.step_text, row.label.source),
    rule=LABELLED_TURNS,
)
