"""Message indices of a source as turn indices: step labels name messages, ours name turns."""

from collections.abc import Mapping, Sequence
from typing import Any


def turn_of_message(messages: Sequence[Mapping[str, Any]]) -> tuple[int | None, ...]:
    """For every message the turn that it is; None for what the agent did not write."""
    turns: list[int | None] = []
    count = 0
    for message in messages:
        is_turn = message.get("role") == "assistant"
        turns.append(count if is_turn else None)
        count += is_turn
    return tuple(turns)
