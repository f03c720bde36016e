"""tau2 messages: the agent's side as a conversation; calls that the user makes are no part of
it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.importers.conversation import ConversationBuilder, tool_call, usage_of
from synth.importers.records import ImportedLabel, Object
from synth.schemas import Conversation, Usage

USER_CALL = "user_tool_call"
"""Metric of the labels that keep what the user simulator did with tools of its own: the agent
neither wrote nor saw it.
"""


class _Tau2Call(msgspec.Struct):
    id: Any = None
    name: Any = None
    arguments: Any = None
    requestor: Any = None


class Message(msgspec.Struct):
    """One message; several results of tools may stand in one, as `tool_messages`."""

    role: Any = None
    content: Any = None
    tool_calls: list[_Tau2Call] | None = None
    tool_messages: "list[Message] | None" = None
    reasoning: Any = None
    usage: Any = None
    cost: Any = None
    id: Any = None
    requestor: Any = None
    error: Any = None


def dialogue(
    messages: Sequence[Message], policy: str | None
) -> tuple[Conversation, list[ImportedLabel]]:
    """What the agent saw and did, under the policy as its prompt; and labels for what the user did
    out of its sight: a user's message with calls goes to its tools. Raises `ValueError`.
    """
    chat, labels = ConversationBuilder(policy), list[ImportedLabel]()
    asked: list[Object] = []

    for index, message in enumerate(_flat(messages)):
        calls = message.tool_calls or []
        if message.role == "assistant":
            if any(call.requestor == "user" for call in calls):
                raise ValueError(f"message {index}: an assistant message with a call of the user's")

            chat.answer(
                message.content or None,
                thought=message.reasoning if isinstance(message.reasoning, str) else None,
                calls=[tool_call(call.id, call.name, call.arguments) for call in calls],
                usage=_usage(message),
            )
        elif message.role == "user" and calls:
            turn = len(chat.notes) - 1 if chat.notes else None
            done = [_done(call, message) for call in calls]
            labels += [ImportedLabel(USER_CALL, 1.0, turn, one) for one in done]
            asked += done
        elif message.role == "tool" and message.requestor == "user":
            _answer(asked, message)
        elif message.role == "tool":
            chat.result(message.content, message.id, error=message.error)
        else:
            chat.say(message.role, message.content)

    return chat.conversation(), labels


def _done(call: _Tau2Call, message: Message) -> Object:
    """A call of the user's, with what stood beside it."""
    named = {"id": call.id, "name": call.name, "arguments": call.arguments}
    return {**named, "content": message.content}


def _flat(messages: Sequence[Message]) -> Iterator[Message]:
    """Messages one by one."""
    for message in messages:
        yield from [message] if message.tool_messages is None else message.tool_messages


def _usage(message: Message) -> Usage:
    """Tokens and money of one message; the canned greeting has none."""
    if not isinstance(message.usage, dict):
        return Usage()
    return usage_of(message.usage, "prompt_tokens", "completion_tokens", "", message.cost)


def _answer(asked: Sequence[Object], message: Message) -> None:
    """Puts a tool's result beside the user's call that it answers."""
    for call in reversed(asked):
        if call["id"] == message.id and "result" not in call:
            call.update(result=message.content, error=bool(message.error))
            return

    raise ValueError("a tool result for the user answers no call of the user's")
