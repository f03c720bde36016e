"""What carries loss in a rendered row, token by token: on for what the trained turns wrote, off for
all else.

Preference trainers render the prompt with its generation prompt, and the prompt with a side behind
it; loss is on all tokens from where the two renderings part (TRL 1.16, `common_prefix_length`).
They need no generation tags.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from synth.exporters.form import Chat, Comparison, Steps
from synth.exporters.kinds.sft_rows import assistant_places
from synth.exporters.proof.rendered import lost, shared, unheard
from synth.exporters.template import MaskTemplate

Span = tuple[int, int]


def mask_problems(chat: Chat, template: MaskTemplate, *, by_turn: bool) -> Iterator[str]:
    """What is wrong with a row under a template, by name; nothing where all is right.

    `by_turn`: the consumer puts loss on the trained turns alone; others put it on whatever the
    assistant wrote.
    """
    answers = [message for message in chat.messages if message["role"] == "assistant"]
    # a template that marks nothing shows its turns by what they add to a rendering
    found = _marked(chat, template) if template.marked else _after_their_prefixes(chat, template)

    if isinstance(found, str):
        yield found

        return

    text, spans = found
    # what the consumer puts loss on, and what it must not
    lit = [spans[turn] for turn in chat.trained] if by_turn else [*spans.values()]
    if not by_turn and len(chat.trained) != len(answers):
        yield "a turn that must carry no loss is trained on"

    if not any(end > start for start, end in lit):
        yield "no token carries loss"

    for turn, (start, end) in spans.items():
        yield from lost(answers[turn], text[start:end])

    dark = _without_loss(text, lit)
    yield from unheard(chat.messages, chat.tools, dark, "carries loss, or is not rendered")
    edges = sorted({edge for span in lit for edge in span})
    if any(_reaches_over(edges, token) for token in template.offsets(text)):
        yield "a token is half the assistant's"


def _without_loss(text: str, lit: Sequence[Span]) -> str:
    """What stands between the spans that carry loss, a line each."""
    ends, starts = [0, *(end for _, end in lit)], [*(start for start, _ in lit), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _reaches_over(edges: Sequence[int], token: Span) -> bool:
    """Whether an edge lies within a token, which has loss as a whole or none."""
    start, end = token
    return bisect_right(edges, start) < bisect_left(edges, end)


def _marked(chat: Chat, template: MaskTemplate) -> tuple[str, dict[int, Span]] | str:
    """The text, and where each assistant message stands in it, as the template marks it."""
    # marks are spans of characters, one for each assistant message
    text, spans = template.spans(chat.messages, chat.tools)
    if len(spans) != len(assistant_places(chat.messages)):
        return "assistant messages without a mark"
    return text, dict(enumerate(spans))


def _after_their_prefixes(chat: Chat, template: MaskTemplate) -> tuple[str, dict[int, Span]] | str:
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


def side_problems(row: Comparison, template: MaskTemplate) -> Iterator[str]:
    """What is wrong with a row of preferences under a template, by name."""
    # as the trainer asks: with the opening of the turn that follows
    asked = template.text(row.prompt, row.tools, generation_prompt=True)
    history = template.text(row.prompt, row.tools)
    yield from unheard(row.prompt, row.tools, asked, "is not rendered")
    sides = [template.text(messages, row.tools) for messages in row.conversations]
    before = template.units(asked)

    for side, text in zip(row.sides, sides, strict=True):
        if not (side.get("content") or side.get("tool_calls") or side.get("reasoning_content")):
            yield "a side says nothing"

        at = shared(asked, text)

        # the trainer looks for the first token that differs
        if at < len(asked):
            otherwise = "is rendered otherwise once it is there"
            yield (
                f"what stands before the turn {otherwise}, and carries loss"
                if at < len(history)
                else f"the opening of the turn {otherwise}: the trainer leaves it out"
            )
        elif shared(before, template.units(text)) < len(before):
            yield "a token is half the prompt's, half the turn's"

        if not weighed(asked, text, template):
            yield "no token carries loss"

        yield from lost(side, text[at:])

    if len(sides) == 2 and sides[0] == sides[1]:
        yield "chosen and rejected are rendered alike"


def weighed(asked: str, text: str, template: MaskTemplate) -> int:
    """How many tokens carry loss, or characters where there is no tokenizer."""
    after = template.units(text)
    return len(after) - shared(template.units(asked), after)


def text_problems(row: Steps) -> Iterator[str]:
    """What is wrong with a row of steps whatever its tokens are, by name."""
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
    asked = template.opened(row.messages, row.tools)
    # texts were rendered when they were exported; the template may have changed
    whole = row.prompt + "".join(row.steps)
    (messages,) = row.conversations
    if whole != template.text(messages, row.tools) or row.prompt != asked:
        yield "texts are not what the student's template renders"

    if template.tokenizer is None:
        return

    # trainers tokenize prompt and steps apart, and join them
    parts = [template.ids(part) for part in (row.prompt, *row.steps)]
    if template.ids(whole) != [token for part in parts for token in part]:
        yield "a token is half the prompt's, half the step's"

    for step in row.steps:
        written = step + row.separator
        offsets = template.offsets(written)

        if not offsets:
            yield "a step has no token for its label"
        elif offsets[-1][1] != len(written):
            yield "the label does not stand on the separator: it has no token"
