"""Which tokens of a rendered chat its model would have written: the spans of the assistant
turns.
"""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from synth.schemas import (
    Message,
    Messages,
    Scored,
    TokenId,
    TokenScore,
    ToolSchema,
    ToolSchemas,
    content_hash,
)

PREFIXES_CHANGE = "template_changes_earlier_turns"
NO_END_OF_TURN = "template_has_no_end_of_turn"
TOOLS_NOT_RENDERED = "tools_not_rendered"
TOO_LONG = "context_length"
_PROBE: tuple[Message, ...] = ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
_CALL = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
_CALLED: tuple[Message, ...] = (
    *_PROBE,
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "r"},
    {"role": "assistant", "content": "a"},
)
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

Tokenize = Callable[[Messages, ToolSchemas, bool], Awaitable[tuple[TokenId, ...]]]
"""A chat as the model would read it; True adds the header of a turn of its own."""
Blocks = Sequence[tuple[int, int]]
Marked = Callable[[], Awaitable[Blocks]]
"""The spans of the chat's tokens that its template marks as the assistant's."""


class ChatTemplate(msgspec.Struct, frozen=True):
    """What is known of a model's template: a hash of what it makes of a fixed chat, and the tokens
    that end an assistant's turn.
    """

    template_hash: str
    end_of_turn: tuple[TokenId, ...]

    def end_of_span(self, tokens: Sequence[TokenId], start: int) -> int:
        """Where a turn that begins there ends; an unfinished one runs to the end."""
        size = len(self.end_of_turn)
        for i in range(start, len(tokens) - size + 1):
            if tuple(tokens[i : i + size]) == self.end_of_turn:
                return i
        return len(tokens)


class AssistantTurns(msgspec.Struct, frozen=True):
    """A chat in tokens, and where each assistant turn begins and ends in it; `unknown` says why the
    spans are not known.
    """

    template_hash: str
    tokens: tuple[TokenId, ...] = ()
    spans: Blocks = ()
    unknown: str | None = None

    @property
    def places(self) -> tuple[int, ...]:
        """Where the tokens of the turns stand."""
        return tuple(place for span in self.spans for place in range(*span))

    def scored(
        self, scores: Sequence[TokenScore], texts: Sequence[str], weights_id: str | None
    ) -> Scored:
        """The chat with the scores of these places, in order; `turn_of_token` counts assistant
        messages from 0.
        """
        return Scored(
            tuple(scores),
            tuple(turn for turn, span in enumerate(self.spans) for _ in range(*span)),
            self.template_hash,
            self.unknown != TOOLS_NOT_RENDERED,
            self.unknown,
            weights_id,
            () if self.unknown else self.tokens,
            self.places,
            tuple(texts),
        )


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

    rendered = await tokenize(_CALLED, (_PROBE_TOOL,), True)
    return ChatTemplate(content_hash([rendered, tails[0]]), tails[0][len(tails[0]) - shared :])


async def assistant_turns(
    tokenize: Tokenize,
    template: ChatTemplate,
    messages: Messages,
    tools: ToolSchemas,
    marked: Marked | None = None,
) -> AssistantTurns:
    """The spans from after each header up to, and not with, what ends the turn.

    They are exact where the chat up to each turn, with the header, renders to a prefix of the
    tokens of the whole: then the model saw these tokens and wrote those. Where it does not, they
    are the blocks that the template has `marked`, one for each turn; else none are given.
    """
    whole = await tokenize(messages, tools, False)
    found = AssistantTurns(template.template_hash, whole)

    if not await _shows_tools(tokenize, messages, tools, whole):
        return replace(found, unknown=TOOLS_NOT_RENDERED)

    if not template.end_of_turn:
        return replace(found, unknown=NO_END_OF_TURN)

    turns = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    spans = []
    for i in turns:
        header = await tokenize(messages[:i], tools, True)
        if whole[: len(header)] != header:
            blocks = await marked() if marked is not None else ()
            if not blocks or len(blocks) != len(turns):
                return replace(found, unknown=PREFIXES_CHANGE)
            spans = [(start, min(end, template.end_of_span(whole, start))) for start, end in blocks]
            break
        spans.append((len(header), template.end_of_span(whole, len(header))))
    return replace(found, spans=spans)


async def _shows_tools(
    tokenize: Tokenize, messages: Messages, tools: ToolSchemas, whole: Sequence[TokenId]
) -> bool:
    """Whether a template writes tools into a chat: under other names it writes other tokens."""
    renamed = [
        {**tool, "function": {**tool["function"], "name": f"{tool['function']['name']}_"}}
        for tool in tools
    ]
    return not tools or whole != await tokenize(messages, renamed, False)
