"""tau2 messages: the agent's side as a conversation; calls that the user makes are no part of
it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.conversation import tool_call
from synth.importers.records import ImportedLabel
from synth.schemas.messages import Conversation, from_messages
from synth.schemas.trajectory import Usage

USER_CALL = "user_tool_call"
"""Metric of the labels that keep what the user simulator did with tools of its own: the agent
neither wrote nor saw it.
"""


class Dialogue(msgspec.Struct, frozen=True):
    """What the agent saw and did, what the user did out of its sight, and what the user first
    said.
    """

    conversation: Conversation
    user_calls: tuple[ImportedLabel, ...]
    first_said: str


def dialogue(messages: Sequence[Mapping[str, Any]], system_prompt: str | None) -> Dialogue:
    """Reads tau2 messages; a user's message with calls goes to its tools and not to the agent.
    Raises `ValueError` (one line).
    """
    chat: list[dict[str, Any]] = (
        [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
    )
    usages: list[Usage] = []
    labels: list[ImportedLabel] = []
    asked: list[dict[str, Any]] = []
    for index, message in enumerate(_flat(messages)):
        role, content = message.get("role"), message.get("content")
        calls = message.get("tool_calls") or ()
        if role == "assistant" and any(call.get("requestor") == "user" for call in calls):
            raise ValueError(f"message {index}: an assistant message with a call of the user's")
        if role == "user" and calls:
            for call in calls:
                told = {name: call.get(name) for name in ("id", "name", "arguments")}
                asked.append({**told, "content": content})
                turn = len(usages) - 1 if usages else None
                labels.append(ImportedLabel(USER_CALL, 1.0, turn, asked[-1]))
        elif role == "tool" and message.get("requestor") == "user":
            _answer(asked, message)
        elif role == "tool":
            answered = {"tool_call_id": message.get("id"), "error": message.get("error")}
            chat.append({"role": role, "content": content, **answered})
        elif role == "assistant":
            usages.append(_usage(message))
            chat.append(_assistant(message))
        else:
            chat.append({"role": role, "content": content})
    said = (message["content"] for message in chat if message["role"] == "user")
    conversation = from_messages(chat)
    turns = tuple(
        replace(turn, usage=usage) for turn, usage in zip(conversation.turns, usages, strict=True)
    )
    return Dialogue(
        replace(conversation, turns=turns),
        tuple(labels),
        next((text for text in said if isinstance(text, str)), ""),
    )


def _flat(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Messages one by one: several tool results may stand in one."""
    flat: list[Mapping[str, Any]] = []
    for message in messages:
        several = message.get("tool_messages")
        flat += several if isinstance(several, list) else [message]
    return flat


def _assistant(message: Mapping[str, Any]) -> dict[str, Any]:
    reasoning = message.get("reasoning")
    return {
        "role": "assistant",
        "content": message.get("content") or None,
        "reasoning_content": reasoning if isinstance(reasoning, str) else None,
        "tool_calls": [
            tool_call(call.get("id"), call.get("name"), call.get("arguments"))
            for call in message.get("tool_calls") or ()
        ],
    }


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


def _answer(asked: Sequence[dict[str, Any]], message: Mapping[str, Any]) -> None:
    """Puts a tool's result beside the user's call that it answers."""
    for call in reversed(asked):
        if call["id"] == message.get("id") and "result" not in call:
            call.update(result=message.get("content"), error=bool(message.get("error")))
            return
    raise ValueError("a tool result for the user answers no call of the user's")
