"""JSON objects that stand for calls, whatever their keys are called: `name` and `arguments`
(Hermes), `parameters` (Llama), `action` and `action_input` (LangChain), OpenAI's own `function`.
"""

import re
from collections.abc import Mapping

import msgspec

from synth.schemas import ToolCall, ToolSchemas, argument_error
from synth.text.calls.argument_types import properties_of, required_of
from synth.text.calls.found import (
    AS_TEXT,
    NO_ARGUMENTS,
    UNREAD,
    FoundCalls,
    after_space,
    as_json,
    cut_off,
    json_end,
    past,
    tool_named,
)

NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENTS = ("arguments", "parameters", "args", "action_input", "tool_input", "input", "params")
BESIDE = frozenset({"id", "type", "index", "call_id", "tool_call_id", "thought", "reasoning"})
"""Keys that an object may have beside, and still is a call."""
_KEYS = BESIDE.union(NAMES, ARGUMENTS)
_NO_JSON = (ValueError, msgspec.DecodeError, RecursionError)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_BETWEEN = re.compile(r"\s*[;,]?\s*")
_BEGUN = re.compile(
    r'[\[{\s]*(?:"(?:type|id|index|call_id)"\s*:\s*(?:"[^"]*"|\d+)\s*,\s*|'
    r'"(?:function|tool_calls)"\s*:\s*[\[{\s]+)*'
    rf'"(?:{"|".join(NAMES)})"\s*:\s*"(?P<name>[^"\\]+)(?P<whole>"|\Z)'
)
"""How a call begins, as far as its name."""

Named = tuple[ToolCall, tuple[str, ...]]
"""A call without an id, and what was mended."""


def named_call(written: str, tools: ToolSchemas, *, marked: bool) -> Named | None:
    """The call that an object stands for, None for none.

    `marked`: the form says that it is a call, so that one of an unknown tool is the agent's error;
    elsewhere the name is that of a tool, arguments are given, and no other keys stand beside. A
    text in the place of arguments is read where it holds an object and the tool is known.
    """
    try:
        keys = _OBJECT.decode(written)
    except _NO_JSON:
        return None
    inner = bytes(keys.get("function", b""))
    if inner.startswith(b"{") and (marked or keys.keys() <= _KEYS):
        return named_call(inner.decode(), tools, marked=marked)

    name = _name(keys, tools, marked)
    if name is None or not (marked or _is_call(keys, name, tools)):
        return None

    given = next((bytes(keys[key]).decode() for key in ARGUMENTS if key in keys), "null")
    arguments, repairs = _arguments(given, name, tools)
    return ToolCall.received("", name, arguments), repairs


def _name(keys: Mapping[str, msgspec.Raw], tools: ToolSchemas, marked: bool) -> str | None:
    """What is called, as the tool has it; an unknown one only where a call is `marked`."""
    for key in NAMES:
        try:
            name = _TEXT.decode(keys[key]) if key in keys else None
        except _NO_JSON:
            continue
        known = tool_named(tools, name) if name else None
        if known is not None:
            return known
        if name is not None and marked and key == "name":
            return name
    return None


def _is_call(keys: Mapping[str, msgspec.Raw], name: str, tools: ToolSchemas) -> bool:
    """Whether an object that nothing marks as one is a call of a tool: neither the tool's own
    schema, nor something that only has its name.
    """
    if not keys.keys() <= _KEYS:
        return False
    given = next((bytes(keys[key]) for key in ARGUMENTS if key in keys), None)
    if given is None:
        return not required_of(tools, name)
    if given[:1] not in (b"{", b'"'):
        return given == b"null"
    return not (b'"properties"' in given and "properties" not in (properties_of(tools, name) or {}))


def _arguments(given: str, name: str, tools: ToolSchemas) -> tuple[str, tuple[str, ...]]:
    """The arguments to the byte, and what was mended."""
    if given == "null":
        return "{}", (NO_ARGUMENTS,)
    properties = properties_of(tools, name)
    if not given.startswith('"') or properties is None:
        return given, ()

    text = _TEXT.decode(given)
    if argument_error(text) is None:
        return text, (AS_TEXT,)
    if len(properties) == 1 and not text.lstrip().startswith(("{", "[")):
        return as_json({next(iter(properties)): text}), (AS_TEXT,)
    return given, ()


def read_objects(text: str, begin: int, tools: ToolSchemas, *, marked: bool) -> FoundCalls | None:
    """The calls that follow each other from `begin` on: objects, or lists of objects, with white
    space, a comma or a semicolon between them. None where there are none.

    `end` is where the last of them ends.
    """
    calls: list[ToolCall] = []
    repairs: list[str] = []
    position, end = begin, begin
    while text[position : position + 1] in ("{", "["):
        stop = json_end(text, position)
        items = None if stop is None else _items(text[position:stop])
        named = [named_call(item, tools, marked=marked) for item in items or ()]
        if stop is None or not named or not all(named):
            break
        calls += [one[0] for one in named if one]
        repairs += [repair for one in named if one for repair in one[1]]
        end = stop
        position = past(_BETWEEN, text, stop)

    if not calls:
        return None
    if position > end and begun(text, position, tools):
        repairs.append(UNREAD)
    return FoundCalls(tuple(calls), "", tuple(dict.fromkeys(repairs)), end)


def _items(written: str) -> list[str]:
    """The objects of a list, or the one object; `{"tool_calls": [...]}` is its list."""
    try:
        if written.startswith("["):
            return [bytes(one).decode() for one in _LIST.decode(written)]
        keys = _OBJECT.decode(written)
        if keys.keys() == {"tool_calls"}:
            return [bytes(one).decode() for one in _LIST.decode(keys["tool_calls"])]
    except _NO_JSON:
        return []
    return [written]


def begun(text: str, begin: int, tools: ToolSchemas) -> bool:
    """Whether a call of a tool begins there whose JSON is cut off."""
    begin = after_space(text, begin)
    name = _BEGUN.match(text, begin)
    if name is None or not cut_off(text, begin):
        return False
    if name["whole"]:
        return tool_named(tools, name["name"]) is not None
    return any(tool["function"]["name"].startswith(name["name"]) for tool in tools)
