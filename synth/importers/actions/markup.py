"""Calls between tags: Hermes' JSON, XML of functions and parameters, Mistral's list.

A tag says by itself that a call stands in it. Where any part of it cannot be read, the text stays
text.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

Call = tuple[str, Any]
"""The name of a tool and its arguments: an object, or text that is none."""


class Written(msgspec.Struct, frozen=True):
    """A text taken apart: its calls, and what stands around them."""

    calls: tuple[Call, ...]
    around: str
    kind: str


_JSON_TAG = re.compile(
    r"<(tool_call|function_call|tool_calls)>\s*(?P<json>[\[{].*?[\]}])\s*(?:</\1>|\Z)", re.DOTALL
)
_FUNCTION = re.compile(
    r"(?:<tool_call>\s*)?<function(?:=|\s+name=)[\"']?(?P<name>[\w.:/-]+)[\"']?>(?P<body>.*?)"
    r"(?:</function>|\Z)(?:\s*</tool_call>)?",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=|\s+name=)[\"']?(?P<name>[\w.:/-]+)[\"']?>(?P<value>.*?)</parameter>", re.DOTALL
)
_INVOKE = re.compile(
    r"<invoke\s+name=[\"'](?P<name>[^\"']+)[\"']>(?P<body>.*?)</invoke>", re.DOTALL
)
_WRAPPER = re.compile(r"</?(?:antml:)?function_calls>")
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(?P<json>\[.*\])\s*\Z", re.DOTALL)


def in_tags(text: str) -> Written | None:
    """The calls between tags, in their order; None where the text holds none that can be read."""
    if "<" not in text and "[TOOL_CALLS]" not in text:
        return None

    for kind, pattern, read in (
        ("hermes", _JSON_TAG, _json),
        ("xml", _FUNCTION, _function),
        ("xml", _INVOKE, _function),
        ("mistral", _MISTRAL, _json),
    ):
        found = list(pattern.finditer(text))
        try:
            calls = [call for match in found for call in read(match)]
        except (ValueError, RecursionError):
            continue
        if calls:
            around = _WRAPPER.sub("", pattern.sub("", text)).strip()
            return Written(tuple(calls), around, kind)

    return None


def named_call(value: Any) -> Call:
    """The call in a JSON value. Raises `ValueError` where it names no tool."""
    if isinstance(value, dict):
        if isinstance(value.get("function"), dict):
            return named_call(value["function"])
        keys = ("name", "tool_name", "tool", "function", "action", "api_name", "function_name")
        name = next((value[key] for key in keys if isinstance(value.get(key), str)), None)
        held = ("arguments", "args", "action_input", "parameters", "input", "params", "kwargs")
        key = next((key for key in held if key in value), None)
        if name:
            return name, {} if key is None else value[key]

    raise ValueError("no call: it names no tool")


def _json(match: re.Match[str]) -> Iterator[Call]:
    value = json_or_python(match["json"])
    for one in value if isinstance(value, list) else [value]:
        yield named_call(one)


def json_or_python(text: str) -> Any:
    """A value in JSON, or as Python prints it: so some published sets write their calls. Raises
    `ValueError`.
    """
    try:
        return json.loads(text)
    except ValueError:
        try:
            # sets, bytes, infinity and the like are no arguments of a call
            return json.loads(json.dumps(ast.literal_eval(text), allow_nan=False))
        except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError("neither JSON nor a value of Python") from error


def _function(match: re.Match[str]) -> Iterator[Call]:
    """A function with its parameters, or with JSON in their place."""
    body = match["body"]
    found = [(one["name"], _value(one["value"])) for one in _PARAMETER.finditer(body)]
    rest = _PARAMETER.sub("", body).strip()
    if not found and rest:
        value = json.loads(rest)
        if not isinstance(value, dict):
            raise ValueError("arguments are no object")
        yield match["name"], value
    else:
        yield match["name"], dict(found)


def _value(text: str) -> str:
    """A parameter as it was written, without the line breaks that the tags stand on."""
    return text.removeprefix("\n").removesuffix("\n")
