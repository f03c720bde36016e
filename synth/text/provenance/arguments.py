"""The scalars of a call's arguments: where they stand, what their schema says of them, which of
them are free text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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

_VALUE_AS_KEY = re.compile(r"^[#\d]|-\d")  # "1", "#W2", "V-31": what no argument is named

_DEEPEST = 30

Schema = Mapping[str, Any]
_NONE: Schema = {}


class Argument(msgspec.Struct, frozen=True):
    """One scalar, or the key of an entry that the schema does not name; `name` is the nearest
    argument name above it.
    """

    path: str
    name: str
    value: Scalar
    schema: Schema = _NONE


def parameters(tool: ToolSchema | None) -> Schema:
    """The JSON schema of a tool's arguments; empty where it has none."""
    function = tool.get("function", tool) if tool is not None else None
    found = function.get("parameters") if isinstance(function, dict) else None
    return found if isinstance(found, dict) else _NONE


def scalars(arguments: Mapping[str, Any], schema: Schema) -> list[Argument]:
    """Every scalar of the arguments, depth first in their own order; what is nested more than 30
    deep is one text.
    """
    return list(_walk(arguments, "", "", schema, 0))


def _walk(value: Any, path: str, name: str, schema: Schema, depth: int) -> Iterator[Argument]:
    if depth > _DEEPEST:
        yield Argument(path, name, msgspec.json.encode(value).decode())
    elif isinstance(value, dict):
        properties, others = (
            _mapping(schema.get("properties")),
            _mapping(schema.get("additionalProperties")),
        )
        for key, entry in value.items():
            below = f"{path}.{key}" if path else key
            if key in properties:
                yield from _walk(entry, below, key, _mapping(properties[key]), depth + 1)
            elif others or _VALUE_AS_KEY.search(key):
                yield Argument(f"{below}#key", name, key)
                yield from _walk(entry, below, name, others, depth + 1)
            else:
                yield from _walk(entry, below, key, _NONE, depth + 1)
    elif isinstance(value, list):
        items = _mapping(schema.get("items"))
        for at, entry in enumerate(value):
            yield from _walk(entry, f"{path}[{at}]", name, items, depth + 1)
    else:
        yield Argument(path, name, value, schema)


def _mapping(value: Any) -> Schema:
    return value if isinstance(value, dict) else _NONE


def exempt(argument: Argument) -> bool:
    """Null, emptiness, and by heuristic free text: a name that is worded by the agent, or many
    words, and no enumeration.
    """
    value = argument.value
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if not isinstance(value, str) or permitted(argument.schema):
        return False
    return argument.name.lower() in FREE_TEXT_NAMES or len(value.split()) > MOST_WORDS


def permitted(schema: Schema) -> list[Any]:
    """The values that a schema names: enum, const and default, also under anyOf, oneOf and
    allOf.
    """
    found: list[Any] = list(schema["enum"]) if isinstance(schema.get("enum"), list) else []
    found += [schema[word] for word in ("const", "default") if word in schema]
    for word in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(word)
        found += [
            value
            for branch in (branches if isinstance(branches, list) else ())
            for value in permitted(_mapping(branch))
        ]
    return found


def all_permitted(tools: Sequence[ToolSchema]) -> list[Any]:
    """The values that any tool's schema names, at any depth."""
    found: list[Any] = []
    for tool in tools:
        _collect(parameters(tool), found)
    return found


def _collect(schema: Schema, found: list[Any]) -> None:
    if not schema:
        return
    found += permitted(schema)
    for part in _mapping(schema.get("properties")).values():
        _collect(_mapping(part), found)
    for word in ("items", "additionalProperties"):
        _collect(_mapping(schema.get(word)), found)
