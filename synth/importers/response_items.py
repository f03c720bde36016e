"""Items of OpenAI's Responses API as chat messages: what the model gave between two answers of the
world is one assistant message.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from synth.importers.message_parts import UNREAD_MASK, text_of
from synth.importers.turn_notes import COPIED_MASK, TurnNote, from_environment
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
    """Messages and notes (one per assistant message) of the items added so far.

    Reasoning is a thought where its text is there; summaries and encrypted reasoning, and tools
    that the provider ran within the call,
    stay in `raw`: neither is what the model wrote. A custom tool's free text becomes `{"input":
    text}`.
    """

    def __init__(self, is_harness: Callable[[str], bool] = lambda text: False) -> None:
        self.messages: list[dict[str, Any]] = []
        self.notes: list[TurnNote] = []
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
            self.messages.append(from_environment(text_of([item])))
        elif kind in _OUTPUTS:
            self.end()
            self.messages.append(_result(item))
        elif kind == "message" and item.get("role") != "assistant":
            self.end()
            text = text_of(item.get("content"))
            harness = item.get("role") == "user" and self._is_harness(text)
            self.messages.append(
                from_environment(text) if harness else {"role": item.get("role"), "content": text}
            )
        elif kind == "message":
            answer = self._answer()
            text = text_of(item.get("content"))
            answer["content"] = (
                text if answer["content"] is None else f"{answer['content']}\n{text}"
            )
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._answer().setdefault("tool_calls", []).append(_call(item, kind))
        elif kind in _OPAQUE:
            self._keep(item, kind)
        else:
            return False
        return True

    def end(self) -> None:
        """What the model gives next belongs to another call."""
        self._open = False

    def note_usage(self, usage: Usage) -> None:
        """What the last call of the model cost."""
        if self.notes:
            self.notes[-1].usage = usage

    def mark_as_copied(self) -> None:
        """All answers so far stand here a second time."""
        for note in self.notes:
            note.mask = COPIED_MASK

    def roll_back(self, rounds: int) -> None:
        """Forgets what was said since the user spoke, `rounds` times."""
        asked = [
            place
            for place, message in enumerate(self.messages)
            if message["role"] == "user" and "name" not in message
        ]
        cut = len(self.messages) if rounds <= 0 or not asked else asked[-min(rounds, len(asked))]
        self.rolled_back += len(self.messages) - cut
        del self.messages[cut:]
        del self.notes[sum(message["role"] == "assistant" for message in self.messages) :]
        self.end()

    def _answer(self) -> dict[str, Any]:
        if not self._open:
            self._open = True
            self._opaque = []
            self.messages.append({"role": "assistant", "content": None})
            self.notes.append(TurnNote())
        return self.messages[-1]

    def _keep(self, item: Mapping[str, Any], kind: str) -> None:
        answer = self._answer()
        self._opaque.append(item)
        self.notes[-1].raw = json.dumps(self._opaque, ensure_ascii=False)
        if kind != "reasoning":
            self.notes[-1].mask = UNREAD_MASK
        elif item.get("content"):
            thought = text_of(item["content"])
            answer["reasoning_content"] = (
                f"{answer['reasoning_content']}\n{thought}"
                if "reasoning_content" in answer
                else thought
            )


def _call(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    name: Any = item.get("name")
    arguments: Any = item.get("arguments")
    if kind == "local_shell_call":
        name, arguments = "local_shell", item.get("action")
    elif kind == "custom_tool_call":
        arguments = {"input": item.get("input")}
    return {
        "id": item.get("call_id") or item.get("id"),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _result(item: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs are text, parts, or (in older logs) `{content, success}`."""
    output: Any = item.get("output")
    failed = False
    if isinstance(output, Mapping):
        output, failed = output.get("content"), output.get("success") is False
    return {
        "role": "tool",
        "tool_call_id": item.get("call_id"),
        "content": text_of(output),
        "error": failed,
    }
