"""Calls as GLM-4.5 writes them: the tool's name, then pairs of `<arg_key>` and `<arg_value>`."""

import re
from collections.abc import Mapping
from typing import Any

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.argument_types import properties_of, typed
from synth.text.calls.found import FoundCalls, as_json, tool_named

GLM = "tool_call_glm"
BROKEN = "tool_call_broken_glm"
_NAME = re.compile(r"\s*([^\s<>{}\[\]\"'():,]+)\s*(?=<arg_key>|\Z)")
_PAIR = re.compile(
    r"\s*<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL
)
_NOT_CLOSED = "arguments are not a JSON object: keys and values of the call are not closed in pairs"


def read_glm(inside: str, end: int, tools: ToolSchemas) -> FoundCalls | None:
    """The call in a tag, which ends at `end`; None where something else stands in it.

    Values are text where the tool's schema says so, else JSON. One without arguments names a tool.
    """
    named = _NAME.match(inside)
    if named is None:
        return None

    name = tool_named(tools, named[1]) or named[1]
    properties = properties_of(tools, name)
    if named.end() == len(inside):
        empty = FoundCalls((ToolCall("", name, "{}"),), "", (GLM,), end)
        return empty if properties is not None else None

    arguments, position = _pairs(inside, named.end(), properties or {})
    if inside[position:].strip():
        broken = ToolCall("", name, inside[named.end() :].strip(), _NOT_CLOSED)
        return FoundCalls((broken,), "", (GLM, BROKEN), end)
    return FoundCalls((ToolCall.received("", name, as_json(arguments)),), "", (GLM,), end)


def _pairs(inside: str, position: int, properties: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Keys and values from a place on, and where the last of them ends."""
    arguments: dict[str, Any] = {}
    while (pair := _PAIR.match(inside, position)) is not None:
        key = pair["key"].strip()
        arguments[key] = typed(pair["value"], properties.get(key))
        position = pair.end()
    return arguments, position
