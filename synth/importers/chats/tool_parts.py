"""Calls and answers of tools in a message of any dialect, whatever their keys are called."""

import json
from typing import Any

import msgspec

from synth.importers.conversation import text_of, tool_call
from synth.importers.records import Object, first_inside, first_of, is_object

_CALL_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId")
_CALL_NAMES = ("name", "function", "function_name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "kwargs", "action_input")


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool gave back."""

    content: str
    call_id: str | None = None
    name: str | None = None
    error: bool = False


def call_of(value: Any) -> Object | None:
    """A call in OpenAI's form, of any shape that names its tool; None where it is no call."""
    if not isinstance(value, dict):
        return None

    call_id = first_of(value, _CALL_IDS, str)
    for key in ("function", "custom", "functionCall", "tool_call", "toolUse"):
        if isinstance(value.get(key), dict):
            inner = call_of(value[key])
            return inner and inner | {"id": call_id or inner["id"]}

    name = first_of(value, _CALL_NAMES, str)
    return None if name is None else tool_call(call_id, name, first_of(value, _ARGUMENTS))


def as_text(value: Any) -> str:
    """What a tool gave back, as text: JSON where it is neither text nor parts of one."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(is_object(one, type=str) for one in value):
        return text_of([_text_part(one) for one in value])
    if isinstance(value, list) and value and all(_is_block(one) for one in value):
        return "\n".join(as_text(one.get("json", one.get("text"))) for one in value)
    if is_object(value, type=str, text=str):
        return str(value["text"])
    return json.dumps(value, ensure_ascii=False)


def _is_block(value: Any) -> bool:
    """A block of Bedrock's results: text, or JSON."""
    return isinstance(value, dict) and (set(value) == {"json"} or is_object(value, text=str))


def _text_part(part: Object) -> Object:
    """A part whose text may stand under other keys, or in an object of its own."""
    told = text_within(part) if part["type"] in _TEXTS else None
    return part if told is None else part | {"text": told}


_TEXTS = ("text", "input_text", "output_text")


def text_within(part: Any) -> str | None:
    """The text of a part of text; None where it has none."""
    if not isinstance(part, dict):
        return None
    held: Any = part.get("text") or part.get("content") or part.get("value") or None
    if isinstance(held, dict):  # the Assistants API: {"value": ..., "annotations": [...]}
        held = held.get("value")
    return held if isinstance(held, str) else "" if held is None else None


def text_in(value: Any) -> str | None:
    """A text that says something."""
    return value if isinstance(value, str) and value else None


def given_in(part: Object) -> Any:
    """What stands in the answer of a tool, under whichever key."""
    keys = ("content", "response", "result", "output", "value", "text")
    given: Any = first_of(part, keys)
    if is_object(given, "type", "value"):  # of the Vercel AI SDK: {"type": "json", "value": ...}
        given = given["value"]
    return given


def answer_in(message: Object, content: Any) -> ToolAnswer:
    """The answer that a message or a part holds; `content` is what the tool gave back."""
    content = given_in(message) if content is None else content
    call_id = first_inside(message, _CALL_IDS[1:], str)
    flags = (message.get(key) for key in ("error", "is_error", "isError"))
    failed = any(bool(flag) for flag in flags) or message.get("status") == "error"
    name = text_in(message.get("name") or message.get("tool_name") or message.get("toolName"))
    if call_id is None and "role" not in message:
        call_id = text_in(message.get("id"))
    return ToolAnswer(as_text(content), call_id, name, failed)
