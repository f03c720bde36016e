"""Wrong solutions out of a right one: a call dropped, another argument, another order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.tool_env.kit import ToolEnv
from synth.envs.tool_env.session import Session
from synth.envs.transcript import Transcript, edited
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Scalar
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall, ToolSchema

Edit = tuple[str, tuple[AgentTurn, ...]]
"""What was done to a solution, in a word, and its turns."""


def wrong_solutions(
    kind: type[ToolEnv],
    name: str,
    task: Task,
    transcript: Transcript,
) -> Iterator[Edit]:
    """Edits of a solved episode that end in other facts; those with the same end are solutions."""
    solved = _ended(kind, name, task, transcript.actions)
    for what, actions in _edits(kind, transcript.actions):
        if _ended(kind, name, task, actions) != solved:
            yield what, actions


def _edits(kind: type[ToolEnv], actions: Sequence[AgentTurn]) -> Iterator[Edit]:
    turns = tuple(actions)
    for at, turn in enumerate(turns):
        for place, call in enumerate(turn.tool_calls):
            yield "dropped_call", edited(turns, {(at, place): None})
            for changed in _changed(kind, call):
                yield "changed_argument", edited(turns, {(at, place): changed})
        if turn.tool_calls and at + 1 < len(turns) and turns[at + 1].tool_calls:
            yield "reordered", (*turns[:at], turns[at + 1], turn, *turns[at + 2 :])


def _changed(kind: type[ToolEnv], call: ToolCall) -> Iterator[ToolCall]:
    """The call with another value of one argument."""
    tool = kind.tools.get(call.name)
    if tool is None or call.parse_error is not None:
        return
    arguments = call.parsed()
    for name, value in arguments.items():
        schema = tool.arguments[name].schema if name in tool.arguments else {}
        for other in _others(value, schema):
            text = canonical_json(arguments | {name: other}).decode()
            yield ToolCall.received(call.call_id, call.name, text)


_AFTER = {str(digit): str((digit + 1) % 10) for digit in range(10)}


def _others(value: Any, schema: ToolSchema) -> list[Any]:
    """Other choices of an enumeration, else the value's neighbour: 4 -> 5, "O-17" -> "O-18"."""
    if "enum" in schema:
        return [choice for choice in schema["enum"] if choice != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, str) and value:
        last = value[-1]
        return [value[:-1] + _AFTER.get(last, chr(ord(last) ^ 1))]
    return [value[:-1]] if isinstance(value, list) and value else []


def _ended(
    kind: type[ToolEnv],
    name: str,
    task: Task,
    actions: Sequence[AgentTurn],
) -> Mapping[str, Scalar]:
    """The facts after these turns."""
    session = Session(kind, name, task.env_config)
    session.begin(task)
    for action in actions:
        session.take(action)
    return session.facts()
