"""The mask of a rendered chat, token by token: on for what the trained turns wrote, off for all
else.
"""

import json
from collections.abc import Iterator
from typing import Any

from synth.exporters.kind import Chat, Steps
from synth.exporters.proof.template import MaskTemplate
from synth.exporters.sft_rows import assistant_places


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


def step_problems(row: Steps, template: MaskTemplate) -> Iterator[str]:
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


Spans = tuple[str, dict[int, tuple[int, int]]]


def mask_problems(chat: Chat, template: MaskTemplate, *, by_turn: bool) -> Iterator[str]:
    """What is wrong with a row under a template, by name; nothing where all is right.

    `by_turn`: the consumer puts loss on the trained turns alone; others put it on whatever the
    assistant wrote.
    """
    answers = [message for message in chat.messages if message["role"] == "assistant"]
    found = (
        _marked(chat, template, len(answers))
        if template.marked
        else _after_their_prefixes(chat, template)
    )
    if isinstance(found, str):
        yield found
        return
    text, spans = found
    lit = [spans[turn] for turn in chat.trained] if by_turn else [*spans.values()]
    if not by_turn and len(chat.trained) != len(answers):
        yield "a turn that must carry no loss is trained on"
    if not any(end > start for start, end in lit):
        yield "no token carries loss"
    for turn, (start, end) in spans.items():
        yield from lost(answers[turn], text[start:end])
    dark = _outside(text, lit)
    for message in chat.messages:
        if message["role"] != "assistant" and not stands_in(message["content"].strip(), dark):
            yield f"what the {message['role']} said carries loss, or is not rendered"
    for tool in chat.tools:
        if not stands_in(tool.get("function", tool).get("name", ""), dark):
            yield "tool schemas are not rendered"
    yield from _straddling(text, lit, template)


def _marked(chat: Chat, template: MaskTemplate, answers: int) -> Spans | str:
    """The text, and where each assistant message stands in it, as the template marks it."""
    text, spans = template.spans(chat.messages, chat.tools)
    return (
        (text, dict(enumerate(spans)))
        if len(spans) == answers
        else "assistant messages without a mark"
    )


def _after_their_prefixes(chat: Chat, template: MaskTemplate) -> Spans | str:
    """The same for the trained turns under a template without marks: what is added to the rendering
    of what stands before them.
    """
    text, spans = template.text(chat.messages, chat.tools), {}
    places = assistant_places(chat.messages)
    for turn in chat.trained:
        before = template.text(chat.messages[: places[turn]], chat.tools, generation_prompt=True)
        after = template.text(chat.messages[: places[turn] + 1], chat.tools)
        if not (after.startswith(before) and text.startswith(after)):
            return "what stands before a trained turn is rendered otherwise once it is there"
        spans[turn] = (len(before), len(after))
    return text, spans


def lost(message: dict[str, Any], written: str) -> Iterator[str]:
    """What of an assistant's message its rendering lacks."""
    if "None" in written and "None" not in json.dumps(message):
        yield "an empty value is rendered as the word None"
    if message["content"] and message["content"].strip() not in written:
        yield "text beside calls is not rendered"
    for call in message.get("tool_calls") or ():
        arguments = call["function"]["arguments"]
        found = arguments if isinstance(arguments, dict) else [arguments]
        if call["function"]["name"] not in written or not all(
            stands_in(scalar, written) for scalar in scalars(found)
        ):
            yield "calls are not rendered"


def _straddling(text: str, lit: list[tuple[int, int]], template: MaskTemplate) -> Iterator[str]:
    """Tokens that are half on, half off."""
    if template.tokenizer is None:
        return
    offsets = template.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
        "offset_mapping"
    ]
    edges = sorted({edge for span in lit for edge in span})
    at = 0
    for start, end in offsets:
        while at < len(edges) and edges[at] <= start:
            at += 1
        if at < len(edges) and start < edges[at] < end:
            yield "a token is half the assistant's"
            return


def _outside(text: str, spans: list[tuple[int, int]]) -> str:
    """What stands outside of spans."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def scalars(value: Any) -> list[Any]:
    """All that a JSON value holds."""
    inside = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    )
    return [value] if inside is None else [scalar for item in inside for scalar in scalars(item)]


def stands_in(scalar: Any, text: str) -> bool:
    """As text, as JSON or as Python: templates differ in how they write and escape arguments."""
    spellings = (str(scalar), json.dumps(scalar, ensure_ascii=False).strip('"'))
    return any(spelling in text for spelling in spellings) or any(
        spelling.replace("\\", "") in text.replace("\\", "") for spelling in spellings
    )
