"""Calls as `<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`: MiniMax M2,
Claude's text form, and DeepSeek V3.2, which puts `｜DSML｜` before each tag's name.
"""

import re
from typing import Any

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.argument_types import properties_of, typed
from synth.text.calls.found import FoundCalls, after_ends, as_json, past, tool_named

INVOKE = "tool_call_invoke"
_PREFIX = r"(?:[｜|]DSML[｜|]|\w+:)?"
_AROUND = rf"{_PREFIX}(?:function_calls|tool_call|tool_calls)"
OPENS = rf"<{_AROUND}>\s*<{_PREFIX}invoke\b|<{_PREFIX}invoke\b"
_BLOCK_OPEN = re.compile(rf"\s*<{_AROUND}>")
_BLOCK_CLOSE = re.compile(rf"\s*</{_AROUND}>")
_CALL = re.compile(
    rf"\s*<{_PREFIX}invoke\s+name=\"(?P<name>[^\"<>]+)\"\s*>(?P<inside>.*?)</{_PREFIX}invoke>",
    re.DOTALL,
)
_PARAMETER = re.compile(
    rf"\s*<{_PREFIX}parameter\s+name=\"(?P<key>[^\"<>]+)\"(?:\s+string=\"(?P<string>\w+)\")?\s*>"
    rf"(?P<value>.*?)</{_PREFIX}parameter>",
    re.DOTALL,
)
_NOT_CLOSED = "arguments are not a JSON object: parameters of the call are not closed"


def read_invoke(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The calls of a block, or of one that has none around it; None where none is whole."""
    end = past(_BLOCK_OPEN, text, opened.start())
    calls: list[ToolCall] = []

    if text.find("invoke>", end) < 0:  # a model that loops closes none
        return None
    while (found := _CALL.match(text, end)) is not None:
        calls.append(_call(found, tools))
        end = found.end()
    if not calls:
        return None

    end = after_ends(text, past(_BLOCK_CLOSE, text, end))
    return FoundCalls(tuple(calls), "", (INVOKE,), end)


def _call(found: "re.Match[str]", tools: ToolSchemas) -> ToolCall:
    """One call; its values have the types of the tool's schema, or those that they say."""
    name = tool_named(tools, found["name"].strip()) or found["name"].strip()
    properties, arguments = properties_of(tools, name) or {}, dict[str, Any]()
    inside, position = found["inside"], 0

    while (parameter := _PARAMETER.match(inside, position)) is not None:
        key, value = parameter["key"], parameter["value"]
        schema = {"type": "object"} if parameter["string"] == "false" else properties.get(key)
        arguments[key] = value if parameter["string"] == "true" else typed(value, schema)
        position = parameter.end()

    if inside[position:].strip():
        return ToolCall("", name, inside.strip(), _NOT_CLOSED)
    return ToolCall.received("", name, as_json(arguments))
