"""Which tokens of a rendered chat its model would have written: the spans of the assistant
turns.
"""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.model import Message
from synth.schemas.trajectory import TokenId, ToolSchema

PREFIXES_CHANGE = "template_changes_earlier_turns"
NO_END_OF_TURN = "template_has_no_end_of_turn"
TOOLS_NOT_RENDERED = "tools_not_rendered"
TOO_LONG = "context_length"
_PROBE: tuple[Message, ...] = ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
_PROBE_TOOL: ToolSchema = {
    "type": "function",
    "function": {
        "name": "t",
        "description": "d",
        "parameters": {"type": "object", "properties": {}},
    },
}
"""With a description and in this order: vLLM adds `"description": null` and reorders, transformers
shows a schema as it is.
"""

Tokenize = Callable[[Sequence[Message], Sequence[ToolSchema], bool], Awaitable[tuple[TokenId, ...]]]
"""A chat as the model would read it; True adds the header of a turn of its own."""


class ChatTemplate(msgspec.Struct, frozen=True):
    """What is known of a model's template: a hash of what it makes of a fixed chat, and the tokens
    that end an assistant's turn.
    """

    template_hash: str
    end_of_turn: tuple[TokenId, ...]


class AssistantTurns(msgspec.Struct, frozen=True):
    """A chat in tokens, and where each assistant turn begins and ends in it; `unknown` says why the
    spans are not known.
    """

    tokens: tuple[TokenId, ...]
    spans: tuple[tuple[int, int], ...] = ()
    tools_rendered: bool = True
    unknown: str | None = None


async def known_template(tokenize: Tokenize) -> ChatTemplate:
    """Found out by rendering chats whose turns are known."""
    header = await tokenize(_PROBE, (), True)
    tails = []
    for said in ("a", "z"):
        whole = await tokenize([*_PROBE, {"role": "assistant", "content": said}], (), False)
        tails.append(whole[len(header) :] if whole[: len(header)] == header else ())
    shared = 0
    while shared < min(map(len, tails)) and tails[0][-1 - shared] == tails[1][-1 - shared]:
        shared += 1
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    chat: list[Message] = [*_PROBE, {"role": "assistant", "content": None, "tool_calls": [call]}]
    chat += [
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "assistant", "content": "a"},
    ]
    rendered = await tokenize(chat, (_PROBE_TOOL,), True)
    return ChatTemplate(content_hash([rendered, tails[0]]), tails[0][len(tails[0]) - shared :])


async def assistant_turns(
    tokenize: Tokenize,
    template: ChatTemplate,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
) -> AssistantTurns:
    """The spans from after each header up to, and not with, what ends the turn.

    They are exact where the chat up to each turn, with the header, renders to a prefix of the
    tokens of the whole: then the model saw these tokens and wrote those. Where it does not, no
    spans are given.
    """
    whole = await tokenize(messages, tools, False)
    shown = not tools or whole != await tokenize(
        messages, [_renamed(tool) for tool in tools], False
    )
    if not shown or not template.end_of_turn:
        return AssistantTurns(whole, (), shown, NO_END_OF_TURN if shown else TOOLS_NOT_RENDERED)
    spans = []
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            header = await tokenize(messages[:i], tools, True)
            if whole[: len(header)] != header:
                return AssistantTurns(whole, unknown=PREFIXES_CHANGE)
            spans.append((len(header), end_of_span(whole, len(header), template)))
    return AssistantTurns(whole, tuple(spans))


def _renamed(tool: ToolSchema) -> ToolSchema:
    return {**tool, "function": {**tool["function"], "name": f"{tool['function']['name']}_"}}


def end_of_span(tokens: Sequence[TokenId], start: int, template: ChatTemplate) -> int:
    """Where a turn that begins there ends; an unfinished one runs to the end."""
    size = len(template.end_of_turn)
    ends = (
        i
        for i in range(start, len(tokens) - size + 1)
        if tuple(tokens[i : i + size]) == template.end_of_turn
    )
    return next(ends, len(tokens))
