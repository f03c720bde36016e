"""tau2 messages: the agent's side as a conversation; calls that the user makes are no part of
it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.importers.records import Mark
from synth.schemas.messages import Conversation, from_messages
from synth.schemas.trajectory import Usage

USER_CALL = "user_tool_call"
"""Metric of the marks that keep what the user simulator did with tools of its own: the agent
neither wrote nor saw it.
"""


class Dialogue(msgspec.Struct, frozen=True):
    """What the agent saw and did, what the user did out of its sight, and what it all cost."""

    conversation: Conversation
    user_calls: tuple[Mark, ...]
    totals: Usage
    first_said: str


def dialogue(messages: Sequence[Mapping[str, Any]], system_prompt: str | None) -> Dialogue:
    """Reads tau2 messages; a user's message with calls goes to its tools and not to the agent.
    Raises `ValueError` (one line).
    """
    chat: list[dict[str, Any]] = (
        [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
    )
    usages: list[Usage] = []
    marks: list[Mark] = []
    for index, message in enumerate(_flat(messages)):
        role = message.get("role")
        calls = message.get("tool_calls") or ()
        if role == "assistant" and any(call.get("requestor") == "user" for call in calls):
            raise ValueError(f"message {index}: an assistant message with a call of the user's")
        if role == "user" and calls:
            marks += [_user_call(call, message, len(usages)) for call in calls]
        elif role == "tool" and message.get("requestor") == "user":
            _answer(marks, message)
        elif role == "tool":
            chat.append(
                {
                    "role": "tool",
                    "content": message.get("content"),
                    "tool_call_id": message.get("id"),
                    "error": message.get("error"),
                }
            )
        elif role == "assistant":
            usages.append(_usage(message))
            chat.append(_assistant(message))
        else:
            chat.append({"role": role, "content": message.get("content")})
    conversation = from_messages(chat)
    turns = tuple(
        msgspec.structs.replace(turn, usage=usage or None)
        for turn, usage in zip(conversation.turns, usages, strict=True)
    )
    heard = [
        message["content"]
        for message in chat
        if message["role"] == "user" and isinstance(message["content"], str)
    ]
    total = sum(usages, Usage())
    return Dialogue(
        msgspec.structs.replace(conversation, turns=turns),
        tuple(marks),
        total,
        heard[0] if heard else "",
    )


def _flat(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Messages one by one: several tool results may stand in one."""
    flat: list[Mapping[str, Any]] = []
    for message in messages:
        several = message.get("tool_messages")
        flat += several if isinstance(several, list) else [message]
    return flat


def _assistant(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "id": call.get("id"),
            "function": {"name": call.get("name"), "arguments": call.get("arguments")},
        }
        for call in message.get("tool_calls") or ()
    ]
    read: dict[str, Any] = {
        "role": "assistant",
        "content": message.get("content") or None,
        "tool_calls": calls,
    }
    if isinstance(message.get("reasoning"), str):
        read["reasoning_content"] = message["reasoning"]
    return read


def _usage(message: Mapping[str, Any]) -> Usage:
    """Tokens and money of one message; the canned greeting has none."""
    used, cost = message.get("usage"), message.get("cost")
    if not isinstance(used, Mapping):
        return Usage()
    tokens = [used.get(name) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if isinstance(count, int) else 0 for count in tokens)
    return Usage(
        prompt, completion, calls=1, cost_usd=cost if isinstance(cost, int | float) else None
    )


def _user_call(call: Mapping[str, Any], message: Mapping[str, Any], turns: int) -> Mark:
    detail = {
        "id": call.get("id"),
        "name": call.get("name"),
        "arguments": call.get("arguments"),
        "content": message.get("content"),
    }
    return Mark(USER_CALL, 1.0, turns - 1 if turns else None, detail)


def _answer(marks: list[Mark], message: Mapping[str, Any]) -> None:
    """Puts a tool's result beside the user's call that it answers."""
    for mark in reversed(marks):
        if (
            mark.detail is not None
            and mark.detail["id"] == message.get("id")
            and "result" not in mark.detail
        ):
            mark.detail.update(result=message.get("content"), error=bool(message.get("error")))
            return
    raise ValueError("a tool result for the user answers no call of the user's")
