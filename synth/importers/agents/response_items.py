"""Items of OpenAI's Responses API as chat messages: what the model gave between two answers of the
world is one assistant message.
"""

import json
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from synth.importers.contexts.compaction import ANSWERED, COMPACTION
from synth.importers.conversation import (
    UNREAD_MASK,
    ConversationBuilder,
    joined,
    text_of,
    tool_call,
)
from synth.importers.hosted.items import is_hosted, item_call, item_result
from synth.importers.hosted.parts import is_connector
from synth.importers.records import WORDS, Object, inside, is_object
from synth.schemas import PROVIDER_MASK

_KINDS = WORDS["response_items"]
_OTHERS = _KINDS["others"]
ITEM_TYPES = frozenset(
    ["message", *_KINDS["outputs"], *_KINDS["calls"], *_KINDS["hosted"], *chain(*_OTHERS.values())]
)
"""The types of items that are known."""


def are_items(values: Sequence[Any]) -> bool:
    """Whether all values are items, or messages among them, and one is more than a message."""
    known = (
        is_object(one) and one.get("type", "message" if "role" in one else None) in ITEM_TYPES
        for one in values
    )
    return all(known) and any(one.get("type", "message") != "message" for one in values)


class ResponseItems:
    """Reads items one by one into a conversation.

    Reasoning is a thought where its text is there; summaries and encrypted reasoning stay in `raw`:
    they are not what the model wrote. A tool that the provider ran within the call is a call with
    its result, and ends the answer; the item itself stays in `raw`. A custom tool's free text
    becomes `{"input": text}`.
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

        if kind in _OTHERS["unseen"] or kind in _OTHERS["compactions"]:
            self.leave(item)
            if kind in _OTHERS["compactions"]:
                self.chat.messages[-1][COMPACTION] = ANSWERED
        elif kind in _KINDS["outputs"]:
            self._answered(item)
        elif kind == "message" and role != "assistant":
            self.end()
            self.heard(role, text_of(item.get("content")))
        elif is_hosted(kind):
            self._run(item)
        elif kind == "message" or kind in _KINDS["calls"] or kind in _OTHERS["opaque"]:
            self._write(item, kind)
        else:
            return kind in _OTHERS["silent"]

        return True

    def leave(self, item: Object) -> None:
        """Adds a note in the place of an item that the model saw, and nobody can read."""
        self.end()
        self.chat.harness([item])

    def heard(self, role: Any, text: str) -> None:
        """Adds what somebody else said: the harness, where the text shows that it was."""
        if role == "user" and self._is_harness(text):
            self.chat.harness(text)
        else:
            self.chat.say(role, text)

    def end(self) -> None:
        """What the model gives next belongs to another call."""
        self._answer = None

    def _answered(self, item: Object) -> None:
        """Adds what a tool of the client gave back: text, parts, or `{content, success}` in older
        logs.
        """
        self.end()
        told: Any = item.get("output")
        failed = inside(told, "success") is False or item.get("status") == "failed"
        output = told.get("content") if is_object(told, "content") else told
        if isinstance(output, dict):  # a screenshot
            output = [output]
        if isinstance(output, list) and any(is_object(one, "stdout") for one in output):
            output = json.dumps(output, ensure_ascii=False)
        self.chat.result(output, item.get("call_id"), error=failed)

    def _begun(self) -> Object:
        """The answer under way."""
        if self._answer is None:
            self._answer = self.chat.answer()
        return self._answer

    def _run(self, item: Object) -> None:
        """Adds a call that the provider ran, with its result, behind which the model went on."""
        answer, call = self._begun(), item_call(item)
        answer["tool_calls"].append(call)
        answer["note"].setdefault("raw", []).append(item)
        if not is_connector(item):
            answer["note"]["mask"] = PROVIDER_MASK
        content, failed = item_result(item)
        self.chat.result(content, call["id"], name=call["function"]["name"], error=failed)
        self.end()

    def _write(self, item: Object, kind: str) -> None:
        """Adds what the model gave to its answer under way."""
        # where the text of reasoning is held back, its content is null or empty
        told = item.get("content") or None if kind == "reasoning" else item.get("content")
        text = text_of(told) if kind in ("message", "reasoning") else ""
        answer = self._begun()
        note = answer["note"]

        if kind == "message":
            before = answer["content"]
            answer["content"] = text if before is None else f"{before}\n{text}"
        elif kind in _KINDS["calls"]:
            answer["tool_calls"].append(_called(item, kind))
        else:
            note.setdefault("raw", []).append(item)
            answer["reasoning_content"] = joined(answer["reasoning_content"], text)
            if kind != "reasoning":
                note["mask"] = UNREAD_MASK


def _called(item: Object, kind: str) -> Object:
    """A call of a tool of the client: its arguments, or the action that stands for them."""
    arguments = item.get("arguments", item.get("action", item.get("operation")))
    if kind == "custom_tool_call":
        arguments = {"input": item.get("input")}
    if kind == "computer_call" and item.get("actions") is not None:
        arguments = {"actions": item["actions"]}
    return tool_call(
        item.get("call_id") or item.get("id"), _KINDS["calls"][kind] or item.get("name"), arguments
    )
