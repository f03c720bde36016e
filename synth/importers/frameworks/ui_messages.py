"""Messages as chat interfaces keep them (Vercel AI SDK): one holds all steps of a reply, with the
calls and what they gave back. Here each step becomes an answer and its results.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from synth.importers.chats.envelopes import speaker_of
from synth.importers.records import Object, inside, is_object

_STEP = "step-start"
_NAMED = "tool-"
_OTHERS = ("tool-call", "tool-result", "tool-error", "tool-invocation")
"""Parts whose type begins as those that are named after their tool do, and are none."""


class _ReplyStep(msgspec.Struct):
    """One call of the model: its parts, and the answers to its calls."""

    parts: list[Any] = []
    results: list[Object] = []
    number: Any = None

    def messages(self, message: Object) -> Iterator[Object]:
        """The step as chat messages; what the reply says of itself stands with each of them."""
        about = {key: one for key, one in message.items() if key not in _HELD}
        yield about | {"content": self.parts}
        if self.results:
            yield {"role": "tool", "content": self.results}


_HELD = ("content", "parts", "toolInvocations")


def recognises_message(message: Any) -> bool:
    """Whether a message holds steps: parts that begin one, calls with their results."""
    if not isinstance(message, dict):
        return False
    parts = message.get("parts")
    held = parts if isinstance(parts, list) else []
    return bool(message.get("toolInvocations")) or any(
        _tool(part) is not None or _begins(part) for part in held
    )


def _begins(part: Any) -> bool:
    return bool(inside(part, "type") == _STEP)


def in_steps(message: Any) -> list[Any]:
    """The messages that a message of an interface stands for; any other one stands for itself."""
    if not recognises_message(message) or speaker_of(message) != "assistant":
        return [message]

    steps = [_ReplyStep()]
    for part in _parts(message):
        now, tool = steps[-1], _tool(part)
        if _begins(part):
            steps += [_ReplyStep()] if now.parts else []
            continue
        number = None if tool is None else tool.get("step")
        other = number is not None and now.number not in (None, number)
        if now.results and (tool is None or other):  # results come between two calls of the model
            now = _ReplyStep()
            steps.append(now)
        _take(now, part, tool)

    found = [one for step in steps for one in step.messages(message) if step.parts]
    return found or [message]


def _parts(message: Object) -> list[Any]:
    """The parts of a reply. Older versions have calls and text beside each other: the text came
    last, and repeats what stands in parts where there are any.
    """
    parts = message.get("parts")
    if isinstance(parts, list) and parts:
        beside = () if any(_tool(one) for one in parts) else message.get("toolInvocations") or ()
        return [*parts, *({"type": "tool-invocation", "toolInvocation": one} for one in beside)]

    calls = [
        {"type": "tool-invocation", "toolInvocation": one} for one in message["toolInvocations"]
    ]
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    return [*calls, *(content or ())]


def _tool(part: Any) -> Object | None:
    """What a part says of a call that the client or the server made; None for any other part."""
    if not is_object(part, type=str):
        return None
    if part["type"] == "tool-invocation":
        inner = part.get("toolInvocation")
        return inner if isinstance(inner, dict) else None
    kind: str = part["type"]
    is_named = kind.startswith(_NAMED) and kind not in _OTHERS and "toolCallId" in part
    return dict(part) if is_named or kind == "dynamic-tool" else None


def _take(step: _ReplyStep, part: Any, tool: Object | None) -> None:
    if tool is None:
        step.parts.append(part)
        return

    name = tool.get("toolName") or str(part["type"]).removeprefix(_NAMED)
    asked = next((tool[key] for key in ("args", "input", "rawInput") if key in tool), None)
    call = {"toolCallId": tool.get("toolCallId"), "toolName": name}
    call |= {"providerExecuted": True} if tool.get("providerExecuted") is True else {}
    step.parts.append({"type": "tool-call", **call, "input": asked})
    step.number = tool.get("step")

    given = next((tool[key] for key in ("result", "output") if key in tool), None)
    broke = tool.get("errorText")
    is_there = broke is not None or "result" in tool or "output" in tool
    if is_there:
        result = {"type": "tool-result", **call, "is_error": broke is not None}
        step.results.append(result | {"output": given if broke is None else broke})
