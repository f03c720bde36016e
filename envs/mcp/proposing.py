"""What could be called now: arguments for every tool, drawn from its schema, from what the folder
holds and from what was read.
"""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import unquote

from synth.confinement import INSIDE
from synth.envs.echo_check import rows_of
from synth.envs.mcp.state.folder import FILE
from synth.envs.mcp.statements import HINTS, Tables, hinted, statement
from synth.schemas import Facts, ToolCall, ToolSchema

PER_TOOL = 4
OPTIONAL = 0.25
"""How often an argument is given that need not be."""
_DEEPEST = 6
_WORDS = HINTS["words"]


def proposed(tools: Sequence[ToolSchema], facts: Facts, draw: Random) -> list[ToolCall]:
    """Up to `PER_TOOL` different calls of each tool; the same state and draw give the same ones."""

    drawing = _Arguments(facts, draw)
    calls: list[ToolCall] = []
    for function in (tool["function"] for tool in tools):
        name, parameters = function["name"], function.get("parameters") or {}
        drawing.tool = name
        drawn = (drawing.value(name, parameters, 0) for _ in range(PER_TOOL))
        made = [arguments if isinstance(arguments, dict) else {} for arguments in drawn]
        texts = (json.dumps(one, ensure_ascii=False, sort_keys=True) for one in made)
        for text in dict.fromkeys(texts):
            calls.append(ToolCall.received(f"call_{len(calls)}", name, text))

    return calls


class _Arguments:
    """Draws values that a call of `tool` can name: paths that are there, what stands under each
    field of a record, and in tables.
    """

    def __init__(self, facts: Facts, draw: Random) -> None:
        self.tool = ""
        self._draw = draw
        self._tables = Tables(facts)
        rows = rows_of(facts)
        files, folders = rows.get("file", {}), rows.get("folder", {})
        self._files = sorted(f"{INSIDE}/{unquote(key)}" for key in files)
        self._folders = [INSIDE, *sorted(f"{INSIDE}/{unquote(key)}" for key in folders)]
        self._texts = sorted({str(f["content"]) for f in files.values() if "content" in f})
        self._fields: dict[str, list[str]] = {}

        for record in rows.get("record", {}).values():
            for field, value in record.items():
                if isinstance(value, str) and field != FILE:
                    self._fields.setdefault(field.removeprefix("@").lower(), []).append(value)

    def value(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        """A value that a schema takes, for a parameter of that name."""

        draw = self._draw
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return draw.choice(list(schema["enum"]))
        options = _options(schema)
        if options:
            return self.value(name, draw.choice(options), depth + 1)

        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "string")
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "array":
            return self._array(name, schema, depth)
        if kind == "boolean":
            return draw.random() < 0.5
        if kind in ("integer", "number"):
            low, high = int(schema.get("minimum", 1)), int(schema.get("maximum", 5))
            return draw.randint(low, max(low, high))

        return self._text(name)

    def _array(self, name: str, schema: Mapping[str, Any], depth: int) -> list[Any]:
        many = self._draw.randint(1, 2) if depth < _DEEPEST else 0
        one, items = name.removesuffix("s"), schema.get("items") or {}
        return [self.value(one, items, depth + 1) for _ in range(many)]

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = set(schema.get("required") or ())
        properties = (schema.get("properties") or {}) if depth < _DEEPEST else {}

        return {
            name: self.value(name, inner, depth + 1)
            for name, inner in properties.items()
            if name in required or self._draw.random() < OPTIONAL
        }

    def _text(self, name: str) -> str:
        """A text for a parameter of that name: a path for paths, what stands in that field
        elsewhere, else words.
        """

        draw, lowered, titles = self._draw, name.lower(), self._tables.titles
        if lowered in HINTS["sql"] and titles:
            return statement(self.tool, self._tables, _WORDS, draw)
        if "table" in lowered and titles:
            return draw.choice(titles)
        if hinted(name, "paths"):
            return self._path(lowered)

        fields = self._fields.items()
        same = [values for field, values in fields if field in lowered or lowered in field]
        fitting = [value for values in same for value in values]
        if fitting and draw.random() < 0.6:
            return draw.choice(fitting)
        if "old" in lowered and self._texts:
            lines = [line for text in self._texts for line in text.splitlines() if line.strip()]
            return draw.choice(lines or _WORDS)

        if hinted(name, "contents"):
            return f"{draw.choice(_WORDS)} {draw.choice(_WORDS)} {draw.randint(1, 99)}"
        word = draw.choice(_WORDS)

        return word.capitalize() if "name" in lowered else word

    def _path(self, lowered: str) -> str:
        """A path that is there, or a new one."""

        draw = self._draw
        folder, word = draw.choice(self._folders), draw.choice(_WORDS)
        fresh = f"{folder}/{word}{draw.choice(('.txt', '.md', ''))}"
        wants_new = "dest" in lowered or draw.random() < 0.4
        there = [*self._files, *self._folders]

        return fresh if wants_new else draw.choice(there)


def _options(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of which a value takes one, or all; none where there is no choice."""
    for combined in ("anyOf", "oneOf", "allOf"):
        options = [one for one in schema.get(combined, ()) if one.get("type") != "null"]
        if options:
            return options

    return []
