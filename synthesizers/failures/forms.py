"""The form of a turn that a role writes: its calls are held to the tools of the run."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from synth.engine.asking import response_form
from synth.schemas import ToolSchema, canonical_json

CALL = "WrittenCall"
MOST_FORM = 30_000
"""The longest form, in bytes, that names the tools."""


def form_with(name: str, kind: type[Any], tools: Sequence[ToolSchema]) -> Mapping[str, Any]:
    """The form of a turn whose calls are of the tools there are, with arguments that fit: a server
    that holds the reply to it makes no others.

    A tool whose parameters refer to parts elsewhere may be given any object.
    """
    form = deepcopy(dict(response_form(name, kind)))
    parts = form["json_schema"]["schema"].get("$defs", {})
    held = [_call_of(tool["function"]) for tool in tools]
    if CALL in parts and held and len(canonical_json(held)) <= MOST_FORM:
        parts[CALL] = {"anyOf": held}
    return form


def _call_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a call of one tool."""
    given = tool.get("parameters") or {}
    refers = b'"$ref"' in canonical_json(given) or given.get("type") != "object"
    arguments = {"type": "object"} if refers else given
    properties = {"name": {"enum": [tool["name"]]}, "arguments": arguments}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
