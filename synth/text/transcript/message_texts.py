"""The texts of messages that a template renders, visited by place and changed.

`synth.text.redaction.places` names all texts of a trajectory.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from synth.schemas import (
    ENVIRONMENT_NAME,
    CheckResult,
    Message,
    Observation,
    ToolCall,
    Trajectory,
    Turn,
)
from synth.text.transcript.visiting import Change as Change
from synth.text.transcript.visiting import table, visited, without_token_ids

ARGUMENTS = "arguments"
"""The place of a call's arguments, where a text is JSON."""
TOOLS = "tool_schemas"


def with_messages(messages: Sequence[Message], change: Change) -> list[Message]:
    """The messages with every text changed.

    Texts are contents (by role), thoughts, names and ids, calls with their arguments.
    """
    return [with_message(message, change) for message in messages]


def with_message(message: Message, change: Change) -> Message:
    """One message; its role stays."""
    changed = dict(message)
    role = ENVIRONMENT_NAME if message.get("name") == ENVIRONMENT_NAME else str(message["role"])
    places = {
        "reasoning_content": "thought",
        "content": role,
        "name": "name",
        "tool_call_id": "call_id",
    }

    for key, place in places.items():
        if message.get(key):
            changed[key] = change(place, message[key])

    if message.get("tool_calls"):
        changed["tool_calls"] = [_call(call, change) for call in message["tool_calls"]]

    return changed


def _call(call: Message, change: Change) -> Message:
    """A call with its name, arguments and id changed."""
    function = call["function"]
    written = function | {
        "name": change("call_name", function["name"]),
        "arguments": change(ARGUMENTS, function["arguments"]),
    }
    named = {"id": change("call_id", call["id"])} if call.get("id") else {}

    return call | {"function": written} | named


def with_trajectory(trajectory: Trajectory, change: Change) -> Trajectory:
    """The trajectory with the same texts changed, and without token ids and log-probabilities."""

    def by_last_name(place: str, value: Any) -> Any:
        return change(place.rpartition(".")[2], value)

    return without_token_ids(visited(trajectory, _TEXTS, by_last_name))


def with_check(check: CheckResult | None, change: Change) -> CheckResult | None:
    """What the check found, with its texts changed: a stranger may have written its facts."""
    if check is None:
        return None

    return msgspec.convert(change("check", msgspec.to_builtins(check)), CheckResult)


def _visit_check(place: str, check: CheckResult, change: Change) -> CheckResult | None:
    return with_check(check, change)


def _visit_value(place: str, value: Any, change: Change) -> Any:
    return change(place, value)


_TEXTS = table(
    {
        Trajectory: f"system_prompt:system tools:{TOOLS} opening turns check_result:check",
        Turn: "content:assistant thought:thought agent:name tool_calls observations",
        ToolCall: f"call_id:call_id name:call_name arguments:{ARGUMENTS}",
        Observation: "content:@source call_id:call_id name:name",
    },
    {"tools": _visit_value, "check_result": _visit_check},
)
"""In the order in which a template writes them."""
