"""Which format a record is in, by its shape; file names are never asked."""

from collections.abc import Mapping
from typing import Any


def format_of(value: Any) -> str | None:
    """The name of the importer that reads such a record, or None."""
    if isinstance(value, Mapping) and isinstance(value.get("info"), Mapping) and "traj" in value:
        return "tau_bench" if isinstance(value["info"].get("task"), Mapping) else None
    if _is_openai(value.get("messages") if isinstance(value, Mapping) else value):
        return "openai_messages"
    return None


def _is_openai(messages: Any) -> bool:
    """Chat messages whose calls are nested under `function`; flat calls and `requestor` are other formats' (tau2)."""
    if not isinstance(messages, list) or not messages:
        return False
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str) or "requestor" in message:
            return False
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or any(isinstance(call, Mapping) and "function" not in call for call in calls):
            return False
    return True


def shape(value: Any) -> str:
    """A record's outline, for the message that nobody reads it: its first keys, or its type."""
    if isinstance(value, Mapping):
        return "object with " + ", ".join(repr(key) for key in list(value)[:8])
    if isinstance(value, list):
        return "array of " + (shape(value[0]) if value else "nothing")
    return f"JSON {type(value).__name__}"
