"""Arguments that a model wrote as bare text, with the types that the tool's schema gives them."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synth.schemas.trajectory import ToolSchema

_ALIASES = {
    alias: kind
    for kind, aliases in {
        "string": "str text varchar char enum",
        "integer": "int int32 int64 uint uint32 uint64 long short unsigned",
        "number": "float float32 float64 double",
        "boolean": "bool",
        "object": "dict",
        "array": "arr list sequence",
    }.items()
    for alias in aliases.split()
}


def properties_of(tools: Sequence[ToolSchema], name: str) -> Mapping[str, Any] | None:
    """The schemas of a tool's parameters by name, as far as it gives them; None where the tool is
    not among those offered.
    """
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, Mapping) and function.get("name") == name:
            parameters = function.get("parameters")
            properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
            return properties if isinstance(properties, Mapping) else {}
    return None


def typed(text: str, schema: Any) -> Any:
    """The value that a text stands for under a schema: the first of null, integer, number, boolean,
    JSON and string that the schema names and the text can be read as; JSON or the text itself where
    it can be read as none of them.

    As vLLM's parser `qwen3_coder` reads it (vllm/tool_parsers/utils.py, 0.32). Without a schema the
    text stays as it is.
    """
    if not isinstance(schema, Mapping):
        return text
    named = {
        _ALIASES.get(kind, kind)
        for kind in (kind.strip().lower() for kind in _kinds(schema) or {"string"})
    }
    for kind, read in _READERS.items():
        if kind in named:
            try:
                return read(text)
            except (ValueError, RecursionError):
                continue
    try:
        return _json(text)
    except (ValueError, RecursionError):
        return text


def _kinds(schema: Any) -> set[str]:
    """The types that a schema allows, by `type`, by the values of `enum`, and by its
    alternatives.
    """
    if not isinstance(schema, Mapping):
        return {"string"}
    kinds: set[str] = set()
    given = schema.get("type")
    kinds.update(
        kind
        for kind in (
            [given] if isinstance(given, str) else given if isinstance(given, list) else []
        )
        if isinstance(kind, str)
    )
    values = schema.get("enum")
    kinds.update(_kind_of(value) for value in (values if isinstance(values, list) else []))
    for choice in ("anyOf", "oneOf", "allOf"):
        options = schema.get(choice)
        for option in options if isinstance(options, list) else []:
            kinds |= _kinds(option) or {"string"}
    return kinds


def _kind_of(value: Any) -> str:
    kinds = (
        (type(None), "null"),
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
    )
    return next((kind for python, kind in kinds if isinstance(value, python)), "object")


def _null(text: str) -> None:
    if text.lower() != "null":
        raise ValueError(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return int(value) if value == int(value) else value


def _boolean(text: str) -> bool:
    word = text.lower().strip()
    if word not in ("true", "1", "false", "0"):
        raise ValueError(text)
    return word in ("true", "1")


def _json(text: str) -> Any:
    """Raises `ValueError` also for what JSON cannot hold: NaN and infinities."""
    value = json.loads(text)
    json.dumps(value, allow_nan=False)
    return value


_READERS: Mapping[str, Callable[[str], Any]] = {
    "null": _null,
    "integer": int,
    "number": _number,
    "boolean": _boolean,
    "object": _json,
    "array": _json,
    "string": str,
}
"""By type, the one to be tried first standing first. They raise `ValueError`."""
