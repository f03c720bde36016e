"""What a preference trainer weighs, token by token: off for the prompt, on for each side, as TRL's
DPO and KTO trainers find them.

They render the prompt with its generation prompt, and the prompt with a side behind it; loss is on
all tokens from where the two
renderings part (TRL 1.16, `common_prefix_length`). No generation tags are needed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from synth.exporters.kind import Comparison
from synth.exporters.proof.masks import lost, stands_in
from synth.exporters.proof.template import MaskTemplate


def side_problems(row: Comparison, template: MaskTemplate) -> Iterator[str]:
    """What is wrong with a row under a template, by name; nothing where all is right."""
    asked = template.text(row.prompt, row.tools, generation_prompt=True)
    history = template.text(row.prompt, row.tools)
    sides = [template.text([*row.prompt, side], row.tools) for side in row.sides]
    yield from _unheard(row, asked)
    for side, text in zip(row.sides, sides, strict=True):
        if not (side.get("content") or side.get("tool_calls") or side.get("reasoning_content")):
            yield "a side says nothing"
        at = shared(asked, text)
        if at < len(asked):
            yield _parting(at, history)
        elif _tokens_part(asked, text, template):
            yield "a token is half the prompt's, half the turn's"
        if not weighed(asked, text, template):
            yield "no token carries loss"
        yield from lost(side, text[at:])
    if len(sides) == 2 and sides[0] == sides[1]:
        yield "chosen and rejected are rendered alike"


def shared(left: Sequence[Any], right: Sequence[Any]) -> int:
    """The length of what two begin with alike."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def _parting(at: int, history: str) -> str:
    if at < len(history):
        return (
            "what stands before the turn is rendered otherwise once it is there, and carries loss"
        )
    return (
        "the opening of the turn is rendered otherwise once it is there: the trainer leaves it out"
    )


def _tokens_part(asked: str, text: str, template: MaskTemplate) -> bool:
    """Whether a token reaches from the prompt into the turn."""
    before, after = template.ids(asked), template.ids(text)
    return before is not None and after is not None and shared(before, after) < len(before)


def weighed(asked: str, text: str, template: MaskTemplate) -> int:
    """How many tokens carry loss, or characters where there is no tokenizer."""
    before, after = template.ids(asked), template.ids(text)
    return (
        len(text) - shared(asked, text)
        if before is None or after is None
        else len(after) - shared(before, after)
    )


def _unheard(row: Comparison, asked: str) -> Iterator[str]:
    """What of the prompt its rendering lacks."""
    for message in row.prompt:
        if message["role"] != "assistant" and not stands_in(message["content"].strip(), asked):
            yield f"what the {message['role']} said is not rendered"
    for tool in row.tools:
        if not stands_in(tool.get("function", tool).get("name", ""), asked):
            yield "tool schemas are not rendered"
