"""Builds the conversation of a foreign record: every format hands its messages to one builder.

Content that is not text leaves a note in its place, and the turns after it are masked: their words
may rest on what the row does not show.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict, replace

from synth.schemas.messages import ENVIRONMENT_NAME, Conversation, from_messages
from synth.schemas.trajectory import Observation, SampledBy, Source, TokenId, Turn, Usage

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
_UNSEEN = re.compile(r"\[[\w/-]+ left out on import\]")
_MOST = 1 << 53
Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]


class TurnNote(msgspec.Struct, omit_defaults=True):
    """Fields of a turn that no chat message has; None leaves what the message says."""

    usage: Usage | None = None
    raw: str | None = None
    mask: str | None = None
    sampled_by: SampledBy | None = None
    agent: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    completion_token_ids: tuple[TokenId, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class ConversationBuilder:
    """Gathers messages in OpenAI's form, and a note for each answer of the model."""

    def __init__(self, system_prompt: str | None = None) -> None:
        self.messages: list[dict[str, Any]] = []
        self.notes: list[TurnNote] = []
        if system_prompt is not None:
            self.say("system", system_prompt)

    def say(self, role: Any, content: str | None, **more: Any) -> dict[str, Any]:
        """Adds a message."""
        self.messages.append({"role": role, "content": content, **more})
        return self.messages[-1]

    def harness(self, text: str) -> None:
        """Adds a message in the user's role that the harness wrote, not a person."""
        self.say("user", text, name=ENVIRONMENT_NAME)

    def result(self, content: str, call_id: Any = None, **more: Any) -> None:
        """Adds the result of a tool; one without an id answers the calls in their order."""
        self.say("tool", content, tool_call_id=call_id, **more)

    def after_answer(self, text: str) -> None:
        """Adds what answered the last message: a result where it has calls, else the harness."""
        last = self.messages[-1] if self.messages else {}
        if last.get("tool_calls"):
            self.result(text)
        else:
            self.harness(text)

    def answer(
        self,
        content: str | None = None,
        *,
        thought: str | None = None,
        calls: Sequence[Any] = (),
        note: TurnNote | None = None,
    ) -> dict[str, Any]:
        """Adds an answer of the model; the message may still be changed."""
        self.notes.append(note or TurnNote())
        return self.say("assistant", content, reasoning_content=thought, tool_calls=list(calls))

    def conversation(self) -> Conversation:
        """The conversation, with the n-th note on the n-th answer. Raises `ValueError`."""
        read = from_messages(self.messages)
        notes = [*self.notes, *[TurnNote()] * (len(read.turns) - len(self.notes))]
        turns = map(_with_note, read.turns, notes)
        return replace(read, turns=_masked_after_unseen(read.opening, tuple(turns)))


def _with_note(turn: Turn, note: TurnNote) -> Turn:
    return replace(turn, **{key: value for key, value in asdict(note).items() if value is not None})


def _masked_after_unseen(opening: Sequence[Observation], turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns, masked from the first on that followed a part which is not text."""
    unseen = _any_unseen(opening)
    masked = []
    for turn in turns:
        masked.append(replace(turn, mask=UNSEEN_MASK) if unseen and turn.mask is None else turn)
        unseen = unseen or _any_unseen(turn.observations)
    return tuple(masked)


def _any_unseen(observations: Sequence[Observation]) -> bool:
    return any(_UNSEEN.search(observation.content) for observation in observations)


def tool_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A call in OpenAI's form."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


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
    if not isinstance(part, Mapping):
        raise ValueError(f"content part is {type(part).__name__}, no object")
    kind = part.get("type")
    text = part.get("refusal" if kind == "refusal" else "text")
    if isinstance(text, str) and (kind == "refusal" or kind in _TEXTS):
        return text
    return f"[{re.sub(r'[^A-Za-z0-9_-]', '_', str(kind))[:40]} left out on import]"


def joined(*texts: str | None) -> str | None:
    """The texts that say something, on lines of their own; None where none does."""
    return "\n".join(filter(None, texts)) or None


def counted(usage: Any, *names: str) -> int:
    """A count of tokens under the first of the names that has one; 0 where none has."""
    counts = (usage.get(name) for name in names) if isinstance(usage, Mapping) else ()
    return next((count for count in counts if type(count) is int and 0 <= count <= _MOST), 0)


def totals(turns: Sequence[Turn]) -> Usage:
    """Usage of all turns that state one."""
    return sum((turn.usage for turn in turns if turn.usage is not None), Usage())


def goal_of(conversation: Conversation) -> str:
    """What the user first asked; where none speaks, what the environment or the system prompt
    says.
    """
    heard = [*conversation.opening, *(o for turn in conversation.turns for o in turn.observations)]
    said = (
        o.content
        for source in (Source.USER, Source.ENVIRONMENT)
        for o in heard
        if o.source is source and o.content
    )
    return next(said, conversation.system_prompt or "")
