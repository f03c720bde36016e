"""What an agent wrote in one turn, and what its arguments hold: all of it that an export shows."""

from collections.abc import Iterator
from typing import Any

from synth.schemas.trajectory import Turn

_DEEPEST = 30


def authored(turn: Turn) -> Iterator[str]:
    """Text, thought, and of every call the values of its arguments with keys that are values, or
    the text where it is no JSON object.
    """
    if turn.content:
        yield turn.content
    if turn.thought:
        yield turn.thought
    for call in turn.tool_calls:
        yield call.name
        if call.parse_error is None:
            yield from _leaves(call.parsed(), 0)
        else:
            yield call.arguments


def _leaves(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict | list) and depth < _DEEPEST:
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry, depth + 1)
        if isinstance(value, dict):
            yield from (key for key in value if not key.replace("_", "").isalpha())
    elif value is not None and not isinstance(value, bool):
        yield str(value)
