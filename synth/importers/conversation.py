"""Builds the conversation of a foreign record: every format hands its messages to one builder.

Content that is not text leaves a note in its place, and the turns after it are masked: their words
may rest on what the row does not show.
"""

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from synth.importers.actions.unplayed import UNPLAYED_MASK, writes_a_call
from synth.importers.records import Object
from synth.schemas import (
    ENVIRONMENT_NAME,
    Conversation,
    Observation,
    Source,
    Turn,
    Usage,
    from_messages,
)

UNSEEN_MASK = "after_unseen_content"
"""Mask of turns whose context held an image, a document or a sound."""
UNREAD_MASK = "unread_block"
"""Mask of turns with blocks that are no text, such as tools that the provider ran within the call.
"""
COPIED_MASK = "copied_context"
"""Mask of answers repeated from an earlier stretch or trajectory: they are trained on there, if
anywhere.
"""
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
LEFT_OUT = re.compile(r"\[([\w/-]*) left out on import\]")
"""The note that stands in the place of content that is no text."""
PAGES = "web_search_result"
"""What a search of a provider found: pages, which are in no log."""
_MOST = 1 << 53
Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]


class ConversationBuilder:
    """Gathers messages in OpenAI's form, whose content is text or a list of parts. The `note` of a
    message holds what its turn has and no chat message.
    """

    def __init__(self, system_prompt: str | None = None) -> None:
        self.messages: list[Object] = []
        if system_prompt is not None:
            self.say("system", system_prompt)

    @classmethod
    def of(cls, messages: list[Object]) -> "ConversationBuilder":
        """One with messages in its form."""
        chat = cls()
        chat.messages = messages
        return chat

    @property
    def notes(self) -> list[Object]:
        """Those of the answers of the model."""
        return [one["note"] for one in self.messages if one["role"] == "assistant"]

    def say(self, role: Any, content: Any, /, **more: Any) -> Object:
        """Adds a message, with further keys; it may still be changed."""
        text = None if content is None else text_of(content)
        self.messages.append({"note": {}} | more | {"role": role, "content": text})
        return self.messages[-1]

    def harness(self, content: Any) -> None:
        """Adds a message in the user's role that the harness wrote, not a person."""
        self.say("user", content, name=ENVIRONMENT_NAME)

    def result(self, content: Any, call_id: Any = None, **more: Any) -> None:
        """Adds the result of a tool; one without an id answers the calls in their order."""
        self.say("tool", content, tool_call_id=call_id, **more)

    def after_answer(self, text: str) -> None:
        """Adds what answered the last message: a result where it has calls, else the harness."""
        if self.messages and self.messages[-1].get("tool_calls"):
            self.result(text)
        else:
            self.harness(text)

    def answer(
        self,
        content: Any = None,
        *,
        thought: str | None = None,
        calls: Sequence[Any] = (),
        **note: Any,
    ) -> Object:
        """Adds an answer of the model, with further fields of its turn (`usage`, `mask`, `agent`
        ..., and what is `raw` as text or JSON).
        """
        about = {"reasoning_content": thought, "tool_calls": list(calls), "note": note}
        return self.say("assistant", content, **about)

    def conversation(self) -> Conversation:
        """The conversation, with the n-th note on the n-th answer. Raises `ValueError`."""
        read = from_messages(self.messages)
        turns = []

        for turn, note in zip(read.turns, self.notes, strict=True):
            stated = {name: value for name, value in note.items() if value is not None}
            if turn.mask is not None:  # a canned greeting stays one
                stated.pop("mask", None)
            if not isinstance(stated.get("raw", ""), str):
                stated["raw"] = json.dumps(stated["raw"], ensure_ascii=False)

            turns.append(replace(turn, **stated))

        turns = _without_unplayed(turns)
        heard = [read.opening, *(turn.observations for turn in turns)]
        unseen = (any(LEFT_OUT.search(one.content) for one in told) for told in heard)
        # before each turn: was anything unseen?
        for index, blind in enumerate(accumulate(unseen, or_)):
            if blind and index < len(turns) and turns[index].mask is None:
                turns[index] = replace(turns[index], mask=UNSEEN_MASK)
        return replace(read, turns=tuple(turns))


def _without_unplayed(turns: list[Turn]) -> list[Turn]:
    """The turns, those masked that write a call and make none: who calls tools at all writes no
    examples.
    """
    return list(map(_unplayed, turns)) if any(turn.tool_calls for turn in turns) else turns


def _unplayed(turn: Turn) -> Turn:
    makes = turn.tool_calls or turn.mask is not None
    return turn if makes or not writes_a_call(turn.content) else replace(turn, mask=UNPLAYED_MASK)


def tool_call(call_id: Any, name: Any, arguments: Any) -> Object:
    """A call in OpenAI's form."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def text_of(content: Any) -> str:
    """Text, or a list of parts: texts on lines of their own, anything else as `[image left out on
    import]`.

    Null is no text. Raises `ValueError` for what is neither.
    """
    if content is None or isinstance(content, str):
        return content or ""

    if not isinstance(content, list):
        raise ValueError(f"content is {type(content).__name__}, neither text nor a list of parts")
    return "\n".join(map(_part, content))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part

    if not isinstance(part, dict):
        raise ValueError(f"content part is {type(part).__name__}, no object")

    kind = part.get("type")
    text = part.get("refusal" if kind == "refusal" else "text")
    if isinstance(text, str) and (kind == "refusal" or kind in _TEXTS):
        return text
    return note_of(kind)


def note_of(kind: Any) -> str:
    """The note in the place of content of a kind that was not logged, or is not read."""
    return f"[{re.sub(r'[^A-Za-z0-9_-]', '_', str(kind))[:40]} left out on import]"


def joined(*texts: str | None) -> str | None:
    """The texts that say something, on lines of their own; None where none does."""
    return "\n".join(filter(None, texts)) or None


def counted(usage: Any, *names: str) -> int:
    """A count of tokens under the first of the names that has one; 0 where none has."""
    counts = (usage.get(name) for name in names) if isinstance(usage, dict) else ()
    return next((count for count in counts if type(count) is int and 0 <= count <= _MOST), 0)


def usage_of(counts: Any, sent: str, given: str, cached: str, cost: Any = None) -> Usage:
    """Tokens and money of one call, by the names of the counts: of several, the first that has
    one.
    """
    prompt, answer, hit = (counted(counts, *names.split()) for names in (sent, given, cached))
    is_price = isinstance(cost, int | float) and not isinstance(cost, bool)
    return Usage(prompt, answer, hit, 1, float(cost) if is_price else None)


def totals(turns: Sequence[Turn]) -> Usage:
    """Usage of all turns that state one."""
    return sum((turn.usage for turn in turns if turn.usage is not None), Usage())


def heard(conversation: Conversation) -> list[Observation]:
    """Everything that the agent was told, in order."""
    later = (one for turn in conversation.turns for one in turn.observations)
    return [*conversation.opening, *later]


def goal_of(conversation: Conversation) -> str:
    """What the user first asked; where none speaks, what the environment or the system prompt
    says.
    """
    said = (
        one.content
        for source in (Source.USER, Source.ENVIRONMENT)
        for one in heard(conversation)
        if one.source is source and one.content
    )

    return next(said, conversation.system_prompt or "")
