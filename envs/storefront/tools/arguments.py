"""Tool arguments against their JSON schema, compiled once per tool to plain functions."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Checker = Callable[[Any, str], str | None]
"""(value, name of the argument) -> what is wrong, or None."""

MAX_TEXT = 20_000
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def _shown(value: Any) -> str:
    text = repr(value)
    return ascii(text if len(text) <= 40 else text[:37] + "...")[1:-1]


def _text(schema: Mapping[str, Any]) -> Checker:
    allowed = frozenset(schema["enum"]) if "enum" in schema else None
    longest = schema.get("maxLength", MAX_TEXT)
    shortest = schema.get("minLength", 0)

    def check(value: Any, name: str) -> str | None:
        if type(value) is not str:
            return f"{name} must be a string, not {_shown(value)}"
        if allowed is not None:
            return (
                None
                if value in allowed
                else f"{name} must be one of {', '.join(sorted(allowed))}, not {_shown(value)}"
            )
        if len(value) > longest:
            return f"{name} has {len(value)} characters, at most {longest} are allowed"
        if len(value) < shortest or (shortest and not value.strip()):
            return f"{name} must not be empty"
        return f"{name} contains control characters" if _UNREADABLE.search(value) else None

    return check


def _number(schema: Mapping[str, Any]) -> Checker:
    whole = schema["type"] == "integer"
    least, most = schema.get("minimum"), schema.get("maximum")

    def check(value: Any, name: str) -> str | None:
        if type(value) is not int and (whole or type(value) is not float):
            return f"{name} must be {'an integer' if whole else 'a number'}, not {_shown(value)}"
        if (least is not None and value < least) or (most is not None and value > most):
            return f"{name} must lie between {least} and {most}, not {_shown(value)}"
        return None

    return check


def _anything(value: Any, name: str) -> str | None:
    return None


def _array(schema: Mapping[str, Any]) -> Checker:
    item = compiled(schema["items"])
    least, most = schema.get("minItems", 0), schema.get("maxItems", 100)

    def check(value: Any, name: str) -> str | None:
        if type(value) is not list:
            return f"{name} must be an array, not {_shown(value)}"
        if not least <= len(value) <= most:
            return f"{name} must have {least} to {most} items, not {len(value)}"
        for position, entry in enumerate(value):
            problem = item(entry, f"{name}[{position}]")
            if problem is not None:
                return problem
        return f"{name} names an item twice" if len(set(map(str, value))) < len(value) else None

    return check


def _object(schema: Mapping[str, Any]) -> Checker:
    properties = {name: compiled(part) for name, part in schema.get("properties", {}).items()}
    required = tuple(schema.get("required", ()))
    extra = schema.get("additionalProperties")
    others = compiled(extra) if isinstance(extra, dict) else _anything if extra else None
    least, most = schema.get("minProperties", 0), schema.get("maxProperties", 100)

    def check(value: Any, name: str) -> str | None:
        if type(value) is not dict:
            return f"{name} must be an object, not {_shown(value)}"
        for needed in required:
            if needed not in value:
                return f"{needed} is missing"
        if not least <= len(value) <= most:
            return f"{name} must have {least} to {most} entries, not {len(value)}"
        for key, entry in value.items():
            part = properties.get(key, others)
            if part is None:
                return f"{_shown(key)} is not an argument; allowed: {', '.join(sorted(properties))}"
            problem = part(entry, key if key in properties else f"{name}[{_shown(key)}]")
            if problem is not None:
                return problem
        return None

    return check


def compiled(schema: Mapping[str, Any]) -> Checker:
    """A checker for the subset of JSON schema that the tools use: string, integer, number, array,
    object.
    """
    kinds: dict[str, Callable[[Mapping[str, Any]], Checker]] = {
        "string": _text,
        "integer": _number,
        "number": _number,
        "array": _array,
        "object": _object,
    }
    return kinds[schema["type"]](schema)
