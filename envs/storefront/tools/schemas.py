"""The tools as a model is shown them, read from `data/tools.yaml`."""

from collections.abc import Mapping
from typing import Any

from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.arguments import Checker, compiled
from synth.schemas.trajectory import ToolSchema

_SHIPPED: Mapping[str, Any] = texts("tools")
MONEY_WRITES: tuple[str, ...] = tuple(_SHIPPED["money_writes"])
"""The writes that need the customer's agreement (R2)."""


def _schemas(part: str) -> tuple[ToolSchema, ...]:
    """The tools of one part of the file."""
    return tuple(_schema(name, tool) for name, tool in _SHIPPED[part].items())


def _schema(name: str, tool: Mapping[str, Any]) -> ToolSchema:
    """A tool as a chat model's request has it."""
    properties = tool["properties"]

    parameters = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in tool.get("optional", ())],
        "additionalProperties": False,
    }

    named = {
        "name": name,
        "description": tool["description"],
        "parameters": parameters,
    }

    return {"type": "function", "function": named}


READ_TOOLS, WRITE_TOOLS, TALK_TOOLS = (
    _schemas("read"),
    _schemas("write"),
    _schemas("talk"),
)
TOOLS: tuple[ToolSchema, ...] = READ_TOOLS + WRITE_TOOLS + TALK_TOOLS
WRITES = frozenset(_SHIPPED["write"])
TALKS = frozenset(_SHIPPED["talk"])
CHECKERS: dict[str, Checker] = {
    tool["function"]["name"]: compiled(tool["function"]["parameters"]) for tool in TOOLS
}


FACTORS: tuple[str, ...] = tuple(
    _SHIPPED["read"]["verify_identity"]["properties"]["factor"]["enum"]
)
_TELL: Mapping[str, Any] = _SHIPPED["talk"]["tell_customer"]["properties"]
FACTS: dict[str, tuple[str, dict[str, Any]]] = {
    fact: (kind, _TELL[fact]) for fact, kind in _SHIPPED["facts"].items()
}
"""What the customer can be told, each with the type of such a fact in a check, and its schema."""
