"""Arguments that a model wrote as bare text, with the types that the tool's schema gives them."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from synth.schemas import ToolSchemas

_ALIASES = {
    "string": "str text varchar char enum",
    "integer": "int int32 int64 uint uint32 uint64 long short unsigned",
    "number": "float float32 float64 double",
    "boolean": "bool",
    "object": "dict",
    "array": "arr list sequence",
}
_KINDS = {alias: kind for kind, aliases in _ALIASES.items() for alias in aliases.split()}
TYPE_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
"""What JSON Schema calls the types of JSON's values."""


def properties_of(tools: ToolSchemas, name: str) -> Mapping[str, Any] | None:
    """The schemas of a tool's parameters by name, as far as it gives them; None where the tool is
    not among those offered.
    """
    for tool in tools:
        function = _mapping(tool.get("function"))
        if function.get("name") == name:
            return _mapping(_mapping(function.get("parameters")).get("properties"))
    return None


def required_of(tools: ToolSchemas, name: str) -> list[Any]:
    """The names of the parameters that a tool cannot do without, as far as its schema says."""
    functions = (_mapping(tool.get("function")) for tool in tools)
    found = (one for one in functions if one.get("name") == name)
    return _list(_mapping(next(found, {}).get("parameters")).get("required"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def typed(text: str, schema: Any) -> Any:
    """The value that a text stands for under a schema: the first of null, integer, number, boolean,
    JSON and string that the schema names and the text can be read as; JSON or the text itself where
    it can be read as none of them.

    As vLLM's parser `qwen3_coder` reads it (vllm/tool_parsers/utils.py, 0.32). Without a schema the
    text stays as it is.
    """
    if not isinstance(schema, Mapping):
        return text
    named = {kind.strip().lower() for kind in _kinds(schema)}
    kinds = {_KINDS.get(kind, kind) for kind in named}
    for read in (*(read for kind, read in _READERS.items() if kind in kinds), _json):
        try:
            return read(text)
        except (ValueError, RecursionError):
            continue
    return text


def _kinds(schema: Any) -> set[str]:
    """The types that a schema allows, by `type`, by the values of `enum`, and by its alternatives;
    text where it names none.
    """
    schema = _mapping(schema)
    given = schema.get("type")
    kinds = {kind for kind in [given, *_list(given)] if isinstance(kind, str)}
    kinds |= {TYPE_NAMES.get(type(value), "object") for value in _list(schema.get("enum"))}
    for choice in ("anyOf", "oneOf", "allOf"):
        for option in _list(schema.get(choice)):
            kinds |= _kinds(option)
    return kinds or {"string"}


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
