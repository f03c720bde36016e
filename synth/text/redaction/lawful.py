"""Whether a redacted trajectory still teaches lawful calls: a mark is a string, and may stand where
a number is due.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.schemas.errors import RowError
from synth.schemas.trajectory import Trajectory

_NUMERIC = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
) | {
    f"{bound}{what}"
    for bound in ("min", "max")
    for what in ("Length", "Items", "Properties", "Contains")
}
"""Keywords of JSON Schema whose value is a number."""
_WORDS = frozenset({"type", "$ref", "pattern", "format"})
"""Those whose value is a word that means something to a reader."""


def require_lawful(given: Trajectory, redacted: Trajectory) -> None:
    """Raises `RowError` where a mark stands for a keyword's value in a tool's schema, or for an
    argument that its tool takes as a number.

    Calls of tools whose schemas are not known are let pass, and so is an argument that was no
    number before.
    """
    if given is redacted:
        return
    for tool, changed in zip(given.tools, redacted.tools, strict=True):
        if tool != changed and not _schema_holds(tool, changed):
            raise RowError(
                "unlawful_tool_schema",
                f"trajectory {given.trajectory_id}: its tools cannot be shown without it",
                "tools",
            )
    numbers = dict(_number_arguments(given.tools))
    for at, (turn, other) in enumerate(zip(given.turns, redacted.turns, strict=True)):
        for index, (call, new) in enumerate(zip(turn.tool_calls, other.tool_calls, strict=True)):
            of_numbers = numbers.get(call.name, ())
            if call.arguments == new.arguments or not of_numbers or call.parse_error is not None:
                continue
            before, after = call.parsed(), new.parsed()
            if any(
                isinstance(after.get(name), str) and not isinstance(before.get(name), str)
                for name in of_numbers
            ):
                place = f"turn.{at}.call.{index}.arguments"
                raise RowError(
                    "unlawful_argument",
                    f"trajectory {given.trajectory_id}: a number is due in {place}",
                    place,
                )


def _schema_holds(given: Any, changed: Any) -> bool:
    """Whether two schemas differ in words for people alone."""
    if isinstance(given, Mapping) and isinstance(changed, Mapping):
        pairs = zip(given.items(), changed.items(), strict=True)
        return all(_value_holds(key, value, new) for (key, value), (_, new) in pairs)
    if isinstance(given, list | tuple) and isinstance(changed, list | tuple):
        return all(_schema_holds(value, new) for value, new in zip(given, changed, strict=True))
    return True


def _value_holds(key: str, value: Any, new: Any) -> bool:
    if isinstance(value, Mapping | list | tuple):
        return _schema_holds(value, new)
    due = (key in _NUMERIC and not isinstance(value, str)) or (
        key in _WORDS and isinstance(value, str)
    )
    return not due or bool(new == value)


def _number_arguments(tools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(tool, those of its arguments that are numbers and nothing else), as far as its schema says
    so in the usual form.
    """
    for tool in tools:
        function = tool.get("function")
        parameters = function.get("parameters") if isinstance(function, Mapping) else None
        properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
        if isinstance(function, Mapping) and isinstance(properties, Mapping):
            named = (
                name
                for name, schema in properties.items()
                if isinstance(schema, Mapping) and schema.get("type") in ("integer", "number")
            )
            yield str(function.get("name")), tuple(named)
