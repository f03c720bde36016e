"""Items of OpenAI's Responses API as chat messages: what the model gave between two answers of the
world is one assistant message.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from synth.importers.conversation import (
    COPIED_MASK,
    UNREAD_MASK,
    ConversationBuilder,
    text_of,
    tool_call,
)
from synth.schemas.trajectory import Usage

_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_OPAQUE = (
    "reasoning",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "computer_call",
)
_UNSEEN = (
    "compaction",
    "compaction_summary",
    "item_reference",
)  # the model read them, and nobody else can


class ResponseItems:
    """Reads items one by one into a conversation.

    Reasoning is a thought where its text is there; summaries and encrypted reasoning, and tools
    that the provider ran within the call, stay in `raw`: neither is what the model wrote. A custom
    tool's free text becomes `{"input": text}`.
    """

    def __init__(self, is_harness: Callable[[str], bool] = lambda text: False) -> None:
        self.chat = ConversationBuilder()
        self._is_harness = is_harness
        self.rolled_back = 0
        self._open = False
        self._opaque: list[Mapping[str, Any]] = []

    def add(self, item: Any) -> bool:
        """Takes one item; False where its kind is not known. Raises `ValueError` for one that is
        malformed.
        """
        if not isinstance(item, Mapping):
            raise ValueError(f"response item is {type(item).__name__}, no object")
        kind = item.get("type", "message" if "role" in item else None)
        if not isinstance(kind, str):
            raise ValueError("a response item without a type")
        if kind == "ghost_snapshot":
            return True
        if kind in _UNSEEN:
            self.end()
            self.chat.harness(text_of([item]))
        elif kind in _OUTPUTS:
            self.end()
            self._result(item)
        elif kind == "message" and item.get("role") != "assistant":
            self.end()
            self.heard(item.get("role"), text_of(item.get("content")))
        elif kind == "message":
            answer, text = self._answer(), text_of(item.get("content"))
            before = answer["content"]
            answer["content"] = text if before is None else f"{before}\n{text}"
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._answer()["tool_calls"].append(_call(item, kind))
        elif kind in _OPAQUE:
            self._keep(item, kind)
        else:
            return False
        return True

    def heard(self, role: Any, text: str) -> None:
        """Adds what somebody else said: the harness, where the text shows that it was."""
        if role == "user" and self._is_harness(text):
            self.chat.harness(text)
        else:
            self.chat.say(role, text)

    def end(self) -> None:
        """What the model gives next belongs to another call."""
        self._open = False

    def note_usage(self, usage: Usage) -> None:
        """What the last call of the model cost."""
        if self.chat.notes:
            self.chat.notes[-1].usage = usage

    def mark_as_copied(self) -> None:
        """All answers so far stand here a second time."""
        for note in self.chat.notes:
            note.mask = COPIED_MASK

    def roll_back(self, rounds: int) -> None:
        """Forgets what was said since the user spoke, `rounds` times."""
        messages, notes = self.chat.messages, self.chat.notes
        asked = [
            place
            for place, message in enumerate(messages)
            if message["role"] == "user" and "name" not in message
        ]
        cut = len(messages) if rounds <= 0 or not asked else asked[-min(rounds, len(asked))]
        self.rolled_back += len(messages) - cut
        del messages[cut:]
        del notes[sum(message["role"] == "assistant" for message in messages) :]
        self.end()

    def _answer(self) -> dict[str, Any]:
        if not self._open:
            self._open = True
            self._opaque = []
            self.chat.answer()
        return self.chat.messages[-1]

    def _keep(self, item: Mapping[str, Any], kind: str) -> None:
        answer, note = self._answer(), self.chat.notes[-1]
        self._opaque.append(item)
        note.raw = json.dumps(self._opaque, ensure_ascii=False)
        if kind != "reasoning":
            note.mask = UNREAD_MASK
        elif item.get("content"):
            before, thought = answer["reasoning_content"], text_of(item["content"])
            answer["reasoning_content"] = thought if before is None else f"{before}\n{thought}"

    def _result(self, item: Mapping[str, Any]) -> None:
        """Adds an output: text, parts, or (in older logs) `{content, success}`."""
        output: Any = item.get("output")
        failed = False
        if isinstance(output, Mapping):
            output, failed = output.get("content"), output.get("success") is False
        self.chat.result(text_of(output), item.get("call_id"), error=failed)


def _call(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    name: Any = item.get("name")
    arguments: Any = item.get("arguments")
    if kind == "local_shell_call":
        name, arguments = "local_shell", item.get("action")
    elif kind == "custom_tool_call":
        arguments = {"input": item.get("input")}
    return tool_call(item.get("call_id") or item.get("id"), name, arguments)
