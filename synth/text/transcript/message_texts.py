"""The texts of messages that a template renders, visited by place and changed;
`synth.text.redaction.places` names all texts of a trajectory.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from synth.schemas.check import CheckResult
from synth.schemas.messages import ENVIRONMENT_NAME
from synth.schemas.model import Message
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn

Change = Callable[[str, Any], Any]
"""(place, value) -> what shall stand there: of a text a text, of a JSON value one of the same form.
"""
ARGUMENTS = "arguments"
"""The place of a call's arguments, where a text is JSON."""
TOOLS = "tool_schemas"
Text = TypeVar("Text", str, str | None)


def with_messages(messages: Sequence[Message], change: Change) -> list[Message]:
    """The messages with every text changed: contents (by role), thoughts, names and ids, calls with
    their arguments.
    """
    return [with_message(message, change) for message in messages]


def with_message(message: Message, change: Change) -> Message:
    """One message; its role stays."""
    changed = dict(message)
    role = ENVIRONMENT_NAME if message.get("name") == ENVIRONMENT_NAME else str(message["role"])
    for key, place in (
        ("reasoning_content", "thought"),
        ("content", role),
        ("name", "name"),
        ("tool_call_id", "call_id"),
    ):
        if message.get(key):
            changed[key] = change(place, message[key])
    if message.get("tool_calls"):
        changed["tool_calls"] = [_call_in_message(call, change) for call in message["tool_calls"]]
    return changed


def _call_in_message(call: Message, change: Change) -> Message:
    function = call["function"]
    written = function | {
        "name": change("call_name", function["name"]),
        "arguments": change(ARGUMENTS, function["arguments"]),
    }
    changed = call | {"function": written}
    if call.get("id"):
        changed["id"] = change("call_id", call["id"])
    return changed


def with_trajectory(trajectory: Trajectory, change: Change) -> Trajectory:
    """The trajectory with the same texts changed, and without token ids and log-probabilities: they
    say what the texts no longer do.
    """
    return msgspec.structs.replace(
        trajectory,
        system_prompt=_text("system", trajectory.system_prompt, change),
        tools=change(TOOLS, trajectory.tools),
        opening=tuple(_observation(one, change) for one in trajectory.opening),
        turns=tuple(_turn(turn, change) for turn in trajectory.turns),
        check_result=with_check(trajectory.check_result, change),
    )


def with_check(check: CheckResult | None, change: Change) -> CheckResult | None:
    """What the check found, with its texts changed: facts of a world may be what a stranger
    wrote.
    """
    return (
        None
        if check is None
        else msgspec.convert(change("check", msgspec.to_builtins(check)), CheckResult)
    )


def _turn(turn: Turn, change: Change) -> Turn:
    return msgspec.structs.replace(
        turn,
        content=_text("assistant", turn.content, change),
        thought=_text("thought", turn.thought, change),
        agent=_text("name", turn.agent, change),
        tool_calls=tuple(_call(call, change) for call in turn.tool_calls),
        observations=tuple(_observation(one, change) for one in turn.observations),
        prompt_token_ids=None,
        completion_token_ids=None,
        logprobs=None,
    )


def _call(call: ToolCall, change: Change) -> ToolCall:
    return ToolCall.received(
        _text("call_id", call.call_id, change),
        _text("call_name", call.name, change),
        _text(ARGUMENTS, call.arguments, change),
    )


def _observation(one: Observation, change: Change) -> Observation:
    place = one.source.value if one.source is not Source.ENVIRONMENT else ENVIRONMENT_NAME
    return msgspec.structs.replace(
        one,
        content=_text(place, one.content, change),
        call_id=_text("call_id", one.call_id, change),
        name=_text("name", one.name, change),
    )


def _text(place: str, text: Text, change: Change) -> Text:
    return change(place, text) if text else text
