"""The scalars of a call's arguments, what their schema says of them, which are free text."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.schemas import Scalar, ToolSchema

_FREE_TEXT_NAMES = (
    "message text reason summary note notes comment comments content body description "
    "explanation thought title subject query command cmd script sql patch diff old new"
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
    return {str(_function(tool).get("name")): tool for tool in tools}


def parameters(tool: ToolSchema | None) -> Schema:
    """The JSON schema of a tool's arguments; empty where it has none."""
    return under(_function(tool or {}), "parameters")


def properties(tool: ToolSchema | None) -> Schema:
    """The schemas of a tool's arguments by their names."""
    return under(parameters(tool), "properties")


def _function(tool: ToolSchema) -> Schema:
    """A tool's schema without the `function` around it."""
    return under(tool, "function") if "function" in tool else tool


def under(schema: Any, key: str) -> Schema:
    """What stands under a key; empty where that, or the schema itself, is no object."""
    value = schema.get(key) if isinstance(schema, dict) else None
    return value if isinstance(value, dict) else {}


def scalars(
    value: Any, schema: Schema, path: str = "", name: str = "", depth: int = 0
) -> Iterator[Argument]:
    """Every scalar of the arguments, depth first in their own order.

    What is nested more than 30 deep is one text.
    """
    below = depth + 1

    if depth > _DEEPEST:
        yield Argument(path, name, msgspec.json.encode(value).decode())
    elif isinstance(value, dict):
        named, others = under(schema, "properties"), under(schema, "additionalProperties")
        for key, entry in value.items():
            place = f"{path}.{key}" if path else key
            if key in named or not (others or _VALUE_AS_KEY.search(key)):
                yield from scalars(entry, under(named, key), place, key, below)
            else:
                yield Argument(f"{place}#key", name, key)
                yield from scalars(entry, others, place, name, below)
    elif isinstance(value, list):
        for at, entry in enumerate(value):
            yield from scalars(entry, under(schema, "items"), f"{path}[{at}]", name, below)
    else:
        yield Argument(path, name, value, schema)


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


def permitted(schema: Any) -> list[Any]:
    """The values that a schema names: enum, const and default, also under anyOf, oneOf, allOf."""
    if not isinstance(schema, dict):
        return []

    found = _listed(schema, "enum")
    found += [schema[word] for word in ("const", "default") if word in schema]

    for word in ("anyOf", "oneOf", "allOf"):
        for branch in _listed(schema, word):
            found += permitted(branch)

    return found


def _listed(schema: Schema, key: str) -> list[Any]:
    """The list that stands under a key, empty where none does."""
    value = schema.get(key)
    return [*value] if isinstance(value, list) else []


def all_permitted(schema: Any) -> Iterator[Any]:
    """The values that a schema, and those of what it holds, name."""
    if isinstance(schema, dict):
        yield from permitted(schema)
        for part in under(schema, "properties").values():
            yield from all_permitted(part)

        for key in ("items", "additionalProperties"):
            yield from all_permitted(schema.get(key))
