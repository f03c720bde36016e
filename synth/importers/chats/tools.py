"""Tool schemas of any dialect as OpenAI's: `{"type": "function", "function": {...}}`."""

import json
import re
from collections.abc import Iterator
from typing import Any

from synth.importers.actions.markup import json_or_python
from synth.importers.records import Object, first_of, is_object

_TAGGED = re.compile(r"<tools>(?P<tools>.*?)</tools>", re.DOTALL)
_PARAMETERS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "args_schema")


def tools_of(value: Any) -> tuple[Object, ...]:
    """The schemas of a list, an object by name, or the JSON text of either. What names no tool is
    kept as it stands. Raises `ValueError` for text that is no JSON.
    """
    return tuple(_read(value))


def tools_in_text(text: str | None) -> tuple[Object, ...]:
    """The schemas between tags in a system prompt (Hermes): a list in JSON, or one schema a line;
    none where anything else stands there.
    """
    for found in _TAGGED.finditer(text or ""):
        told = found["tools"].strip()
        for lines in ([told], told.splitlines()):
            try:
                listed = tools_of([json_or_python(line) for line in lines if line.strip()])
            except (ValueError, RecursionError):
                continue
            if listed and all(isinstance(one.get("function"), dict) for one in listed):
                return listed
    return ()


def tools_in_items(*sides: Object) -> tuple[Object, ...]:
    """The schemas of servers whose tools a provider listed among the items of a call."""
    held = (side.get(key) for side in sides for key in ("input", "output"))
    items = [one for value in held if isinstance(value, list) for one in value]
    listed = (one["tools"] for one in items if is_object(one, tools=list, server_label=str))
    return tuple(tool for tools in listed for tool in tools_of(tools))


def _read(value: Any) -> Iterator[Object]:
    if isinstance(value, str):
        yield from _read(json.loads(value) if value.strip() else None)
    elif isinstance(value, list):
        for one in value:
            yield from _read(one)
    elif isinstance(value, dict):
        declared = value.get("functionDeclarations") or value.get("function_declarations")
        if isinstance(declared, list):  # Gemini's groups
            yield from _read(declared)
        elif isinstance(value.get("json_schema"), str | dict):  # OpenInference
            yield from _read(value["json_schema"])
        elif isinstance(value.get("toolSpec"), dict):  # Bedrock
            yield from _read(value["toolSpec"])
        else:
            yield from _schema(value)


def _schema(tool: Object) -> Iterator[Object]:
    """One schema; an object of schemas by name gives each of them."""
    if isinstance(tool.get("function"), dict):
        yield tool if "type" in tool else {"type": "function", **tool}
    elif isinstance(tool.get("name"), str):
        parameters = first_of(tool, _PARAMETERS)
        if isinstance(parameters, dict) and set(parameters) == {"json"}:
            parameters = parameters["json"]
        if parameters is None and tool.get("type") not in (None, "function", "custom"):
            yield tool  # what the provider runs: it has no schema of its own
            return

        function = {"name": tool["name"]}
        for key, given in (("description", tool.get("description")), ("parameters", parameters)):
            function |= {} if given is None else {key: given}
        yield {"type": "function", "function": function}
    elif tool and all(isinstance(one, dict) for one in tool.values()):
        for name, one in tool.items():
            yield from _schema({"name": name} | one)
    elif tool:
        yield tool
