"""The form of a turn that a role writes: its calls are held to the tools of the run."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from synth.engine.asking import response_form
from synth.schemas import ToolSchema, Turn, canonical_json

CALL = "WrittenCall"
MOST_FORM = 30_000
"""The longest form, in bytes, that names the tools."""
FEWEST_CALLS = 2
"""So many calls a role may write even where no turn of the run has more than one."""


def form_with(
    name: str,
    kind: type[Any],
    tools: Sequence[ToolSchema],
    turns: Sequence[Turn],
    steps: Sequence[int] = (),
) -> Mapping[str, Any]:
    """The form of a turn whose calls are of the tools there are, with arguments that fit, and no
    more than the run's turns have: a server that holds the reply to it makes no others. `steps`:
    those that its `step` may name.

    A tool whose parameters refer to parts elsewhere may be given any object.
    """
    form = deepcopy(dict(response_form(name, kind)))
    properties = form["json_schema"]["schema"]["properties"]
    if "tool_calls" in properties:
        most = max((len(turn.tool_calls) for turn in turns), default=0)
        properties["tool_calls"]["maxItems"] = max(FEWEST_CALLS, most)
    if steps:
        properties["step"] |= {"minimum": min(steps), "maximum": max(steps)}
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
