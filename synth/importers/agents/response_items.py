"""Items of OpenAI's Responses API as chat messages: what the model gave between two answers of the
world is one assistant message.
"""

from collections.abc import Callable
from typing import Any

from synth.importers.conversation import (
    UNREAD_MASK,
    ConversationBuilder,
    joined,
    text_of,
    tool_call,
)
from synth.importers.records import WORDS, Object, inside

_KINDS = WORDS["response_items"]


class ResponseItems:
    """Reads items one by one into a conversation.

    Reasoning is a thought where its text is there; summaries and encrypted reasoning, and tools
    that the provider ran within the call, stay in `raw`: neither is what the model wrote. A custom
    tool's free text becomes `{"input": text}`.
    """

    def __init__(self, is_harness: Callable[[str], bool]) -> None:
        self.chat = ConversationBuilder()
        self._is_harness = is_harness
        self._answer: Object | None = None

    def add(self, item: Any) -> bool:
        """Takes one item; False where its kind is not known. Raises `ValueError` for one that is
        malformed.
        """
        if not isinstance(item, dict):
            raise ValueError(f"response item is {type(item).__name__}, no object")

        kind = item.get("type", "message" if "role" in item else None)
        if not isinstance(kind, str):
            raise ValueError("a response item without a type")

        role = item.get("role")

        if kind in _KINDS["unseen"]:
            self.end()
            self.chat.harness([item])
        elif kind in _KINDS["outputs"]:  # text, parts, or (in older logs) `{content, success}`
            self.end()
            told: Any = item.get("output")
            failed = inside(told, "success") is False
            output = told.get("content") if isinstance(told, dict) else told
            self.chat.result(output, item.get("call_id"), error=failed)
        elif kind == "message" and role != "assistant":
            self.end()
            self.heard(role, text_of(item.get("content")))
        elif kind == "message" or kind in _KINDS["calls"] + _KINDS["opaque"]:
            self._write(item, kind)
        else:
            return kind == "ghost_snapshot"

        return True

    def heard(self, role: Any, text: str) -> None:
        """Adds what somebody else said: the harness, where the text shows that it was."""
        if role == "user" and self._is_harness(text):
            self.chat.harness(text)
        else:
            self.chat.say(role, text)

    def end(self) -> None:
        """What the model gives next belongs to another call."""
        self._answer = None

    def _write(self, item: Object, kind: str) -> None:
        """Adds what the model gave to its answer under way."""
        # where the text of reasoning is held back, its content is null or empty
        told = item.get("content") or None if kind == "reasoning" else item.get("content")
        text = text_of(told) if kind in ("message", "reasoning") else ""
        if self._answer is None:
            self._answer = self.chat.answer()

        answer, note = self._answer, self._answer["note"]

        if kind == "message":
            before = answer["content"]
            answer["content"] = text if before is None else f"{before}\n{text}"
        elif kind in _KINDS["calls"]:
            name, arguments = item.get("name"), item.get("arguments")
            if kind == "local_shell_call":
                name, arguments = "local_shell", item.get("action")
            elif kind == "custom_tool_call":
                arguments = {"input": item.get("input")}

            call = tool_call(item.get("call_id") or item.get("id"), name, arguments)
            answer["tool_calls"].append(call)
        else:
            note.setdefault("raw", []).append(item)
            answer["reasoning_content"] = joined(answer["reasoning_content"], text)
            if kind != "reasoning":
                note["mask"] = UNREAD_MASK
