"""Tool arguments against their JSON schema: what is wrong with them, in words."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Schema = Mapping[str, Any]
Checker = Callable[[Any, str], str | None]
"""(value, name of the argument) -> what is wrong, or None."""

MAX_TEXT = 20_000
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a string"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a number"),
    "array": ((list,), "an array"),
    "object": ((dict,), "an object"),
}
"""Type of a schema -> the Python types of its values, and its name."""


def compiled(schema: Schema) -> Checker:
    """A checker for the subset of JSON schema that the tools use: string, integer, number, array,
    object.
    """
    return partial(_problem, schema)


def _problem(schema: Schema, value: Any, name: str) -> str | None:
    """What is wrong with a value, by the type that its schema names."""
    types, called = _TYPES[schema["type"]]

    if type(value) not in types:
        # a bool is an int to Python, and no number to JSON
        return f"{name} must be {called}, not {_shown(value)}"

    if types == (str,):
        return _text_problem(schema, value, name)
    if types == (list,):
        return _array_problem(schema, value, name)
    if types == (dict,):
        return _object_problem(schema, value, name)

    least = schema.get("minimum")
    most = schema.get("maximum")

    if (least is not None and value < least) or (most is not None and value > most):
        return f"{name} must lie between {least} and {most}, not {_shown(value)}"

    return None


def _text_problem(schema: Schema, value: str, name: str) -> str | None:
    """What is wrong with a text: no choice, too long, empty, or unreadable."""
    if "enum" in schema:
        allowed = ", ".join(sorted(schema["enum"]))
        is_one = value in schema["enum"]

        return None if is_one else f"{name} must be one of {allowed}, not {_shown(value)}"

    longest = schema.get("maxLength", MAX_TEXT)
    shortest = schema.get("minLength", 0)

    if len(value) > longest:
        return f"{name} has {len(value)} characters, at most {longest} are allowed"
    if len(value) < shortest or (shortest and not value.strip()):
        return f"{name} must not be empty"

    return f"{name} contains control characters" if _UNREADABLE.search(value) else None


def _array_problem(schema: Schema, value: list[Any], name: str) -> str | None:
    """What is wrong with a list, or with the first wrong item of it."""
    least = schema.get("minItems", 0)
    most = schema.get("maxItems", 100)

    if not least <= len(value) <= most:
        return f"{name} must have {least} to {most} items, not {len(value)}"

    for place, entry in enumerate(value):
        if problem := _problem(schema["items"], entry, f"{name}[{place}]"):
            return problem

    return f"{name} names an item twice" if len(set(map(str, value))) < len(value) else None


def _object_problem(schema: Schema, value: dict[str, Any], name: str) -> str | None:
    """What is wrong with an object: missing, unknown, or wrong entries."""
    known = schema.get("properties", {})
    extra = schema.get("additionalProperties")

    for needed in schema.get("required", ()):
        if needed not in value:
            return f"{needed} is missing"

    least = schema.get("minProperties", 0)
    most = schema.get("maxProperties", 100)

    if not least <= len(value) <= most:
        return f"{name} must have {least} to {most} entries, not {len(value)}"

    for key, entry in value.items():
        part = known.get(key, extra)

        if not part:
            return f"{_shown(key)} is not an argument; allowed: {', '.join(sorted(known))}"

        of = key if key in known else f"{name}[{_shown(key)}]"

        if part is not True and (problem := _problem(part, entry, of)):
            return problem

    return None


def _shown(value: Any) -> str:
    """A value as a message has it: short, and without characters that no terminal shows."""
    text = repr(value)

    return ascii(text if len(text) <= 40 else text[:37] + "...")[1:-1]
