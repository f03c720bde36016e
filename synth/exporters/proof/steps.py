"""What a step trainer reads: texts that are what the student's template renders, a label per step,
and the token that it stands on.
"""

from collections.abc import Iterator

from synth.exporters.kind import Steps
from synth.exporters.proof.masks import lost
from synth.exporters.proof.template import Template


def text_problems(row: Steps) -> Iterator[str]:
    """What is wrong with a row whatever its tokens are, by name."""
    if len(row.labels) != len(row.steps):
        yield "steps and labels differ in number"
    if any(label is None for label in row.labels):
        yield "a step without a label"
    if not row.prompt or not row.steps or not all(step.strip() for step in row.steps):
        yield "an empty text"
    for message, step in zip(row.step_messages, row.steps, strict=False):
        yield from lost(message, step)


def step_problems(row: Steps, template: Template) -> Iterator[str]:
    """The same, with the student's template: the texts as they are rendered now, and the label's
    token with its tokenizer.
    """
    yield from text_problems(row)
    asked = template.text(
        row.messages, row.tools, generation_prompt=row.messages[-1]["role"] != "assistant"
    )
    if (
        row.prompt + "".join(row.steps)
        != template.text([*row.messages, *row.step_messages], row.tools)
        or row.prompt != asked
    ):
        yield "texts are not what the student's template renders"
    before = template.ids(row.prompt)
    if before is None or template.tokenizer is None:
        return
    if template.ids(row.prompt + "".join(row.steps)) != before + [
        token for step in row.steps for token in template.ids(step) or []
    ]:
        yield "a token is half the prompt's, half the step's"
    for step in row.steps:
        written = step + row.separator
        offsets = template.tokenizer(
            written, add_special_tokens=False, return_offsets_mapping=True
        )["offset_mapping"]
        if not offsets:
            yield "a step has no token for its label"
        elif offsets[-1][1] != len(written):
            yield "the label does not stand on the separator: it has no token"
