"""Whether a redacted trajectory still teaches lawful calls.

A mark is a string, and may stand where a number is due.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from synth.schemas import RowError, ToolCall, Trajectory
from synth.text.provenance.arguments import by_name, parameters, under

_SIZES = [
    f"{bound}{what}"
    for bound in ("min", "max")
    for what in ("Length", "Items", "Properties", "Contains")
]
_NUMERIC = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", *_SIZES}
)
"""Keywords of JSON Schema whose value is a number."""
_WORDS = frozenset({"type", "$ref", "pattern", "format"})
"""Those whose value is a word that means something to a reader."""


def require_lawful(given: Trajectory, redacted: Trajectory) -> None:
    """Raises `RowError` where a mark stands for what must not be one.

    That is a keyword's value in a tool's schema, or an argument that its tool takes as a number.
    Calls of tools whose schemas are not known are let pass, and so is an argument that was no
    number before.
    """
    if given is redacted:
        return

    for key, value in _replaced(given.tools, redacted.tools, ""):
        if key in (_WORDS if isinstance(value, str) else _NUMERIC):
            raise RowError(
                "unlawful_tool_schema",
                f"trajectory {given.trajectory_id}: its tools cannot be shown without it",
                "tools",
            )

    schemas = {name: parameters(tool) for name, tool in by_name(given.tools).items()}

    for at, (turn, other) in enumerate(zip(given.turns, redacted.turns, strict=True)):
        for index, (call, new) in enumerate(zip(turn.tool_calls, other.tool_calls, strict=True)):
            numbers = set(_numbers(schemas.get(call.name, {})))
            if numbers & set(_texts_for_others(call, new)):
                place = f"turn.{at}.call.{index}.arguments"
                raise RowError(
                    "unlawful_argument",
                    f"trajectory {given.trajectory_id}: a number is due in {place}",
                    place,
                )


def _replaced(given: Any, changed: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Keyword and value of each scalar that is another one; members of a list have no keyword."""
    if isinstance(given, Mapping) and isinstance(changed, Mapping):
        for (name, value), new in zip(given.items(), changed.values(), strict=True):
            yield from _replaced(value, new, name)
    elif isinstance(given, list | tuple) and isinstance(changed, list | tuple):
        for value, new in zip(given, changed, strict=True):
            yield from _replaced(value, new, "")
    elif given != changed:
        yield key, given


def _numbers(schema: Mapping[str, Any]) -> Iterator[str]:
    """The arguments that are numbers and nothing else, as far as a schema says so."""
    for name, said in under(schema, "properties").items():
        if isinstance(said, Mapping) and said.get("type") in ("integer", "number"):
            yield name


def _texts_for_others(call: ToolCall, new: ToolCall) -> Iterator[str]:
    """The arguments that are texts now, and were something else."""
    if call.arguments == new.arguments or call.parse_error is not None:
        return

    before = call.parsed()

    for name, value in new.parsed().items():
        if isinstance(value, str) and not isinstance(before.get(name), str):
            yield name
