"""What a message says, whatever its dialect, with what stands beside its content."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.importers.chats.tool_parts import ToolAnswer, call_of
from synth.importers.conversation import UNREAD_MASK, joined, note_of
from synth.importers.hosted.searches import cited
from synth.importers.records import Object

THOUGHTS = ("reasoning_content", "reasoningContent", "reasoning", "thinking", "thought")
"""Keys of what the model thought before it wrote the content."""
CALLS = ("tool_calls", "toolCalls", "function_call", "invalid_tool_calls")
"""Keys of the calls beside the content."""


class Said(msgspec.Struct):
    """A message, read. `texts` are its parts that are text; `unread` are kept as they stand."""

    role: str
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Object] = []
    answers: list[ToolAnswer] = []
    unread: list[Any] = []
    mask: str | None = None
    called: bool = False
    """Whether it is an entry of its own for calls, as ShareGPT writes them."""
    name: str | None = None

    @property
    def text(self) -> str | None:
        """The text; None where there is none at all."""
        return "".join(self.texts) if self.texts else None

    def leave(self, part: Any, kind: str) -> str:
        """Keeps what is not read, and gives the note that stands in its place: an answer with one
        is no example.
        """
        if self.role == "assistant":
            self.unread.append(part)
            self.mask = UNREAD_MASK
        return note_of(kind)

    def beside(self, message: Object) -> None:
        """Takes the calls and thoughts that stand beside the content of an answer; what else looks
        like calls is noted. Raises `ValueError` for calls that name no tool.
        """
        extra = message.get("additional_kwargs")
        for holder in (message, extra if isinstance(extra, dict) else {}):
            self.calls += [] if self.calls else _calls(holder)
            broken = (call_of(one) for one in holder.get("invalid_tool_calls") or ())
            self.calls += [call for call in broken if call is not None]
            if not self.thoughts:
                told = (holder.get(key) for key in THOUGHTS if not self._repeats(key, holder))
                self.thoughts += [one for one in told if isinstance(one, str) and one][:1]

        citations = cited(message)
        if citations is not None:  # of pages that the model was shown
            self.unread += citations
            self.mask = UNREAD_MASK

        for key, held in message.items():
            if key not in _READ and _holds_calls(held, self.calls):
                note = self.leave({key: held}, key)
                self.texts = [joined(self.text, note) or note]

    def _repeats(self, key: str, holder: Object) -> bool:
        """Whether a thought is the beginning of what was said (SWE-agent writes it down twice)."""
        told = holder.get(key) if key == "thought" else None
        words = told.strip() if isinstance(told, str) else ""
        return bool(words) and (self.text or "").lstrip().startswith(words)


_READ = frozenset((*CALLS, *THOUGHTS, "content", "parts", "value", "message", "metadata"))
"""Keys whose calls are read, or stand where no message has any of its own."""


def _calls(holder: Object) -> Iterator[Object]:
    calls = holder.get("tool_calls") or holder.get("toolCalls")
    if isinstance(calls, str):
        calls = json.loads(calls)
    if calls is not None and not isinstance(calls, list):
        raise ValueError("tool_calls is no list")
    if not calls and isinstance(holder.get("function_call"), dict):
        calls = [holder["function_call"]]

    for place, one in enumerate(calls or ()):
        call = call_of(json.loads(one) if isinstance(one, str) else one)
        if call is None:
            raise ValueError(f"tool_calls[{place}] has no function with a name")
        yield call


def _holds_calls(held: Any, known: Sequence[Object]) -> bool:
    """Whether a value is a call with arguments, or a list of such, that is not `known`: schemas of
    tools are none, and some formats write a call twice.
    """
    rows = held if isinstance(held, list) else [held]
    if any(not isinstance(one, dict) or "description" in one for one in rows):
        return False
    calls = [call_of(one) for one in rows]
    if not calls or any(one is None or one["function"]["arguments"] is None for one in calls):
        return False
    told = {one["id"] for one in known} | {one["function"]["name"] for one in known}
    return any(one and not {one["id"], one["function"]["name"]} & told for one in calls)
