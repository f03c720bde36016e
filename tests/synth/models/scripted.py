"""A chat model that says what it was told to say: for tests and demos."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from synth.schemas.model import Completion, Message, ModelError, Sampling
from synth.schemas.trajectory import ToolCall, ToolSchema, Usage

Reply = Completion | ModelError
Script = Iterable[Reply] | Callable[[Sequence[Message], Sequence[ToolSchema]], Completion]


class ScriptedChat:
    """Answers from a list, in order, or from a function of (messages, tools); `requests` keeps the
    messages of each call.

    A `ModelError` in the list is raised when its turn comes; past the end of the list every call
    raises one.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._answer = script if callable(script) else None
        self._replies = iter(()) if callable(script) else iter(script)
        self._name = name
        self.requests: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        """The name that trajectories will carry as their model."""
        return self._name

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling
    ) -> Completion:
        """The next reply of the script. Raises `ModelError` where the script says so, or has none
        left.
        """
        self.requests.append(tuple(messages))
        if self._answer is not None:
            return self._answer(messages, tools)
        reply = next(self._replies, None)
        if reply is None:
            raise ModelError(
                f"the script of {self._name} has no reply left for call {len(self.requests)}"
            )
        if isinstance(reply, ModelError):
            raise reply
        return reply

    async def close(self) -> None:
        """Nothing to close."""


def says(content: str, *, thought: str | None = None) -> Completion:
    """A reply in words."""
    return Completion(content=content, thought=thought, finish_reason="stop", usage=Usage(calls=1))


def calls(
    name: str,
    arguments: Mapping[str, Any] | str,
    *,
    call_id: str = "call_0",
    content: str | None = None,
) -> Completion:
    """A reply that calls one tool; arguments given as a string are sent as they are, broken ones
    too.
    """
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = ToolCall.received(call_id, name, text)
    return Completion(
        content=content, tool_calls=(call,), finish_reason="tool_calls", usage=Usage(calls=1)
    )
