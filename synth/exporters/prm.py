"""PRM data sets: steps with what they are worth, as `synth.pairs` finds them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from schemas.model import Message
from schemas.pairs import StepLabel
from schemas.trajectory import ToolSchema, Trajectory
from synth.exporters.json_columns import plain_text
from synth.exporters.kind import DECISIONS_ON_TEXT, Kind, UnsayableError
from synth.exporters.labelled_turn import completion, label_settings, prompt_before
from synth.exporters.tally import Tally
from synth.ledger.ledger import Ledger
from synth.pairs import LabelSettings, StepReport, step_labels

Render = Callable[[Sequence[Message], Sequence[ToolSchema]], str]


class StepValueRow(msgspec.Struct, frozen=True):
    """A labelled step; `prompt_text` and `step_text` are its prompt and itself rendered, since step trainers read strings."""

    label: StepLabel
    trajectory: Trajectory
    prompt: list[Message]
    step: Message
    prompt_text: str
    step_text: str
    joined: bool = False

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory


def prm_rows(ledger: Ledger, tally: Tally) -> Iterator[StepValueRow]:
    """Steps with a label, or with a soft value alone where nothing decided them."""
    render = _renderer(tally)
    report = StepReport()
    for found in step_labels(ledger, LabelSettings(**label_settings(tally)), report):
        try:
            step = completion(found.step, tally)
        except UnsayableError as error:
            tally.leaves(f"{tally.form.name}:{error.reason}")
            continue
        prompt, joined = prompt_before(found.trajectory, found.label.turn, tally)
        before, after = render(prompt, found.trajectory.tools), render([*prompt, step], found.trajectory.tools)
        if not after.startswith(before):
            tally.leaves("template_changes_the_prompt")
            continue
        yield StepValueRow(found.label, found.trajectory, prompt, step, before, after[len(before) :], joined)
    tally.left_out.update(report.left_out)
    if tally.settings.student is None:
        tally.remarks.append(
            "Prompts and steps are plain transcripts; with a student (`student`, --student) its chat template renders them."
        )


def _renderer(tally: Tally) -> Render:
    if tally.settings.student is None:
        return transcript
    from synth.exporters.proof.template import served_template

    template = served_template(tally.settings.student)
    return lambda messages, tools: template.text(messages, tools, generation_prompt=messages[-1]["role"] != "assistant")


def transcript(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
    """A plain rendering: role, text and calls of each message, after the tools."""
    head = f"tools: {plain_text(tools)}\n\n" if tools else ""
    return head + "".join(_told(message) for message in messages)


def _told(message: Message) -> str:
    lines = [text for text in (message.get("reasoning_content"), message.get("content")) if text]
    lines += [f"{call['function']['name']} {_arguments(call['function']['arguments'])}" for call in message.get("tool_calls", ())]
    return f"{message['role']}: " + "\n".join(lines) + "\n\n"


def _arguments(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else plain_text(arguments)


def _counts(row: StepValueRow, tally: Tally) -> Mapping[str, int]:
    return {"trained_turns": 1, "joined": row.joined}


PRM = Kind(
    name="prm",
    title="Steps, and what they are worth",
    one_row="One row is one step (`completions`, one text) after its `prompt`; `labels` says whether it was good, `successes` of `n` "
    "continuations after it passed (`q`: the soft label), `tier` on what it stands: E1 continuations that were played, E2 a rule of the "
    "check, E3 statistics.",
    rows=prm_rows,
    counts=_counts,
    content=lambda row: (row.prompt_text, row.step_text, row.label.source),
    honours=DECISIONS_ON_TEXT,
)
