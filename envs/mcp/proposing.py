"""What could be called now: arguments for every tool, drawn from its schema, from what the folder
holds and from what was read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import unquote

from synth.confinement import INSIDE
from synth.envs.mcp.folder import FILE
from synth.envs.mcp.statements import PARAMETERS, Tables, statement
from synth.schemas.check import Facts
from synth.schemas.trajectory import ToolCall, ToolSchema

WORDS = (
    "harbour",
    "lantern",
    "orchard",
    "violet",
    "copper",
    "meadow",
    "signal",
    "timber",
    "saffron",
    "quarry",
    "willow",
    "anchor",
)
PER_TOOL = 4
OPTIONAL = 0.25
_DEEPEST = 6


def proposed(
    tools: Sequence[ToolSchema], facts: Facts, draw: Random, root: str = INSIDE
) -> list[ToolCall]:
    """Up to `PER_TOOL` different calls of each tool; the same state and draw give the same ones."""
    known = _Known(facts, root)
    calls: list[ToolCall] = []
    for tool in tools:
        function = tool["function"]
        seen: set[str] = set()
        for _ in range(PER_TOOL):
            known.tool = function["name"]
            arguments = _value(function["name"], function.get("parameters") or {}, known, draw, 0)
            text = json.dumps(
                arguments if isinstance(arguments, dict) else {}, ensure_ascii=False, sort_keys=True
            )
            if text not in seen:
                seen.add(text)
                calls.append(ToolCall.received(f"call_{len(calls)}", function["name"], text))
    return calls


class _Known:
    """Values that a call of `tool` can name: paths that are there, what stands under each field of
    a record, and in tables.
    """

    def __init__(self, facts: Facts, root: str) -> None:
        self.tool = ""
        self.tables = Tables(facts)
        self.files = sorted(
            {f"{root}/{unquote(path.split('/')[1])}" for path in facts if path.startswith("file/")}
        )
        self.folders = [
            root,
            *sorted(
                {
                    f"{root}/{unquote(path.split('/')[1])}"
                    for path in facts
                    if path.startswith("folder/")
                }
            ),
        ]
        self.texts = sorted(
            {
                str(value)
                for path, value in facts.items()
                if path.startswith("file/") and path.endswith("/content")
            }
        )
        self.fields: dict[str, list[str]] = {}
        for path, value in facts.items():
            if (
                path.startswith("record/")
                and isinstance(value, str)
                and not path.endswith(f"/{FILE}")
            ):
                self.fields.setdefault(path.rpartition("/")[2].removeprefix("@"), []).append(value)


def _value(name: str, schema: Mapping[str, Any], known: _Known, draw: Random, depth: int) -> Any:
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return draw.choice(list(schema["enum"]))
    for combined in ("anyOf", "oneOf", "allOf"):
        options = [option for option in schema.get(combined, ()) if option.get("type") != "null"]
        if options:
            return _value(name, draw.choice(options), known, draw, depth + 1)
    kind = schema.get("type", "string")
    kind = (
        next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind
    )
    if kind == "object" or "properties" in schema:
        return dict(_properties(schema, known, draw, depth))
    if kind == "array":
        many = draw.randint(1, 2) if depth < _DEEPEST else 0
        return [
            _value(_singular(name), schema.get("items") or {}, known, draw, depth + 1)
            for _ in range(many)
        ]
    if kind == "boolean":
        return draw.random() < 0.5
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", 1), schema.get("maximum", 5)
        return draw.randint(int(low), max(int(low), int(high)))
    return _text(name, known, draw)


def _properties(
    schema: Mapping[str, Any], known: _Known, draw: Random, depth: int
) -> Iterator[tuple[str, Any]]:
    required = set(schema.get("required") or ())
    if depth >= _DEEPEST:
        return
    for name, inner in (schema.get("properties") or {}).items():
        if name in required or draw.random() < OPTIONAL:
            yield name, _value(name, inner, known, draw, depth + 1)


def _text(name: str, known: _Known, draw: Random) -> str:
    """A text for a parameter of that name: a path for paths, what stands in that field elsewhere,
    else words.
    """
    lowered = name.lower()
    if lowered in PARAMETERS and known.tables.titles:
        return statement(known.tool, known.tables, WORDS, draw)
    if "table" in lowered and known.tables.titles:
        return draw.choice(known.tables.titles)
    if any(
        hint in lowered for hint in ("path", "file", "dir", "source", "destination", "repo", "uri")
    ):
        fresh = (
            f"{draw.choice(known.folders)}/{draw.choice(WORDS)}{draw.choice(('.txt', '.md', ''))}"
        )
        there = [*known.files, *known.folders]
        wants_new = "dest" in lowered or draw.random() < 0.4
        return fresh if wants_new or not there else draw.choice(there)
    fitting = [
        value
        for field, values in known.fields.items()
        if field.lower() in lowered or lowered in field.lower()
        for value in values
    ]
    if fitting and draw.random() < 0.6:
        return draw.choice(fitting)
    if "old" in lowered and known.texts:
        lines = [line for text in known.texts for line in text.splitlines() if line.strip()]
        return draw.choice(lines) if lines else draw.choice(WORDS)
    if any(
        hint in lowered
        for hint in ("content", "text", "message", "observation", "description", "body")
    ):
        return f"{draw.choice(WORDS)} {draw.choice(WORDS)} {draw.randint(1, 99)}"
    return draw.choice(WORDS).capitalize() if "name" in lowered else draw.choice(WORDS)


def _singular(name: str) -> str:
    return name.removesuffix("s")
