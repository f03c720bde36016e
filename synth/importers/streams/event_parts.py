"""What stands in events of OpenHands: arguments, words, thoughts, what a tool gave back."""

import json
from collections.abc import Sequence
from typing import Any

from synth.importers.chats.tool_parts import as_text
from synth.importers.conversation import joined
from synth.importers.records import Object, is_object


def called(message: Object | None, call_id: Any, args: Object) -> Any:
    """The arguments as the model wrote them; those of the action, where its response is not
    there.
    """
    for call in (message or {}).get("tool_calls") or ():
        if is_object(call, function=dict) and call.get("id") == call_id:
            return call["function"].get("arguments")
    return without(args, ("thought", "is_input", "blocking", "hidden", "confirmation_state"))


def sdk_call(event: Object) -> tuple[Any, Any, Any]:
    """Id, name and arguments of the call that an action of the SDK is."""
    call = event.get("tool_call") or {}
    held = call.get("function") or call
    arguments = held.get("arguments")
    if arguments is None:
        arguments = without(event.get("action"), ("kind",))

    call_id = event.get("tool_call_id") or call.get("id")
    return call_id, held.get("name") or event.get("tool_name"), arguments


def without(value: Any, keys: Sequence[str]) -> str:
    """An object without some keys, as JSON."""
    held = value if isinstance(value, dict) else {}
    return json.dumps({k: v for k, v in held.items() if k not in keys}, ensure_ascii=False)


def words(value: Any) -> str:
    """Text, a part or a list of parts."""
    if isinstance(value, list):
        return "\n".join(words(one) for one in value)
    return str(value.get("text") or "") if isinstance(value, dict) else str(value or "")


def thoughts(blocks: Any) -> str | None:
    """The texts of thinking blocks."""
    held = [one.get("thinking") for one in blocks or () if isinstance(one, dict)]
    return joined(*(one for one in held if isinstance(one, str)))


def observed(value: Any) -> str:
    """What a tool gave back: its content, or its output with an error beside it."""
    if isinstance(value, dict):
        for key in ("content", "output", "message", "text", "error"):
            if value.get(key):
                return words(value[key]) if isinstance(value[key], list) else as_text(value[key])
    return as_text(value)
