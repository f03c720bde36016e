"""The scalars of a call's arguments, what their schema says of them, which are free text."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.schemas.check import Scalar
from synth.schemas.trajectory import ToolSchema

_FREE_TEXT_NAMES = (
    "message text reason summary note notes comment comments content body description "
    "explanation thought title subject query"
)
FREE_TEXT_NAMES = frozenset(_FREE_TEXT_NAMES.split())
"""Names of arguments that an agent words itself; exempt where their schema has no enumeration."""
MOST_WORDS = 12
"""A string without enumeration of more words than this is free text, whatever its name: addresses
and titles are shorter.
"""
_VALUE_AS_KEY = re.compile(r"^[#\d]|-\d")
"""In a key such as "1", "#W2", "V-31": what no argument is named."""
_DEEPEST = 30

Schema = Mapping[str, Any]


class Argument(msgspec.Struct, frozen=True):
    """One scalar, or the key of an entry that the schema does not name.

    `name` is the nearest argument name above it.
    """

    path: str
    name: str
    value: Scalar
    schema: Schema = {}


def by_name(tools: Iterable[ToolSchema]) -> dict[str, ToolSchema]:
    """The tools by their names; of those that share one, the last."""
    return {str(_mapping(tool.get("function", tool)).get("name")): tool for tool in tools}


def parameters(tool: ToolSchema | None) -> Schema:
    """The JSON schema of a tool's arguments; empty where it has none."""
    tool = tool or {}
    return _mapping(_mapping(tool.get("function", tool)).get("parameters"))


def properties(tool: ToolSchema | None) -> Schema:
    """The schemas of a tool's arguments by their names."""
    return _mapping(parameters(tool).get("properties"))


def _mapping(value: Any) -> Schema:
    return value if isinstance(value, dict) else {}


def scalars(
    value: Any, schema: Schema, path: str = "", name: str = "", depth: int = 0
) -> list[Argument]:
    """Every scalar of the arguments, depth first in their own order.

    What is nested more than 30 deep is one text.
    """
    if depth > _DEEPEST:
        return [Argument(path, name, msgspec.json.encode(value).decode())]
    found = []
    if isinstance(value, dict):
        named, others = (
            _mapping(schema.get(key)) for key in ("properties", "additionalProperties")
        )
        for key, entry in value.items():
            below = f"{path}.{key}" if path else key
            if key not in named and (others or _VALUE_AS_KEY.search(key)):
                found.append(Argument(f"{below}#key", name, key))
                found += scalars(entry, others, below, name, depth + 1)
            else:
                found += scalars(entry, _mapping(named.get(key)), below, key, depth + 1)
        return found
    if isinstance(value, list):
        items = _mapping(schema.get("items"))
        for at, entry in enumerate(value):
            found += scalars(entry, items, f"{path}[{at}]", name, depth + 1)
        return found
    return [Argument(path, name, value, schema)]


def exempt(argument: Argument) -> bool:
    """Whether an argument is null, empty, or by heuristic free text.

    That is one without enumeration whose name says that the agent words it, or of many words.
    """
    value = argument.value
    if not isinstance(value, str):
        return value is None
    if not value.strip():
        return True
    worded = argument.name.lower() in FREE_TEXT_NAMES or len(value.split()) > MOST_WORDS
    return worded and not permitted(argument.schema)


def permitted(schema: Schema) -> list[Any]:
    """The values that a schema names: enum, const and default, also under anyOf, oneOf, allOf."""
    named = schema.get("enum")
    found: list[Any] = [*named] if isinstance(named, list) else []
    found += [schema[word] for word in ("const", "default") if word in schema]
    for word in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(word)
        for branch in branches if isinstance(branches, list) else ():
            found += permitted(_mapping(branch))
    return found


def all_permitted(tools: Iterable[ToolSchema]) -> list[Any]:
    """The values that any tool's schema names, at any depth."""
    return [
        value for tool in tools for one in _schemas(parameters(tool)) for value in permitted(one)
    ]


def _schemas(schema: Schema) -> Iterator[Schema]:
    """A schema and those of what it holds."""
    yield schema
    parts = [schema.get("items"), schema.get("additionalProperties")]
    for part in (*_mapping(schema.get("properties")).values(), *parts):
        if isinstance(part, dict):
            yield from _schemas(part)
