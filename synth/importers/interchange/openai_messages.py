"""Chats in OpenAI's form: `{"messages": [...], "tools"?: [...], ...}` or a bare list of messages
per record.

Other keys that are read: `reward`, `success`, `outcome`, `model`, `benchmark`, `split`. Without the
first three the outcome is unknown. Turns that the source gives no loss (`weight` 0, `training`
false, `masked_turns`) are masked.
"""

import json
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.attempt import entry, in_order
from synth.importers.conversation import heard
from synth.importers.records import (
    Entry,
    ImportSettings,
    Object,
    Record,
    by_record,
    inside,
    is_object,
)
from synth.schemas import Conversation, Source, content_hash, from_messages

_LOSS = {"weight": "zero_weight", "training": "not_trained"}
"""Keys of an answer that say whether it carries loss (OpenAI's fine-tuning, Axolotl), and the mask
of those that do not.
"""
_OUTCOMES = {"success": True, "failure": False, "unknown": None}


class _Masked(msgspec.Struct):
    turn: int
    reason: str


class _Chat(msgspec.Struct):
    messages: list[Object]
    tools: list[Object] | str | None = None
    reward: float | None = None
    success: bool | None = None
    outcome: str | None = None
    model: str | None = None
    benchmark: str | None = None
    masked_turns: list[_Masked] | None = None


def recognises(value: Any) -> bool:
    """Chat messages whose calls are nested under `function`; flat calls and `requestor` are other
    formats' (tau2).
    """
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        return False

    for message in messages:
        if not is_object(message, role=str) or "requestor" in message:
            return False

        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            return False

        if any(isinstance(call, dict) and "function" not in call for call in calls):
            return False

    return True


def _read(record: Record, settings: ImportSettings) -> Entry:
    value = record.value if isinstance(record.value, dict) else {"messages": record.value}
    chat = msgspec.convert(value, _Chat)
    conversation = _masked(from_messages(chat.messages), chat)

    # what was first said, under the system prompt that stood before it
    prompt = conversation.system_prompt or ""
    said = (one.content for one in heard(conversation) if one.source is not Source.TOOL)
    tools = json.loads(chat.tools) if chat.tools and isinstance(chat.tools, str) else chat.tools

    return entry(
        record,
        "openai_messages",
        conversation,
        goal=next(filter(None, said), prompt),
        benchmark=chat.benchmark,
        split=inside(value, "split", str) or None,
        task={"env_config": {"system_prompt": content_hash(prompt)}},
        passed=_passed(chat, settings),
        reward=chat.reward,
        model=chat.model,
        tools=msgspec.convert(tools or (), tuple[Object, ...]),
        no_turns="no assistant message",
    )


FORMAT = by_record(recognises, _read, in_order)


def _passed(chat: _Chat, settings: ImportSettings) -> bool | None:
    """What the record claims: `outcome` before `success` before `reward`. Raises `ValueError` for
    an outcome it cannot have.
    """
    if chat.outcome is None:
        return settings.passed(chat.reward) if chat.success is None else chat.success

    if chat.outcome not in _OUTCOMES:
        raise ValueError(f"outcome {chat.outcome!r} is none of {', '.join(_OUTCOMES)}")
    return _OUTCOMES[chat.outcome]


def _masked(conversation: Conversation, chat: _Chat) -> Conversation:
    """The conversation with a mask on each turn that the source gives no loss. Raises `ValueError`
    where it says neither yes nor no.
    """
    masks: dict[int, str] = {}

    answers = [at for at, one in enumerate(chat.messages) if one.get("role") == "assistant"]

    for turn, at in enumerate(answers):
        for key, mask in _LOSS.items():
            weight = chat.messages[at].get(key)
            if weight not in (None, 0, 1):
                raise ValueError(f"message {at}: {key} {weight!r} is neither 0 nor 1")

            if weight == 0:
                masks.setdefault(turn, mask)

    masks |= {one.turn: one.reason for one in chat.masked_turns or ()}
    turns = list(conversation.turns)

    for at, mask in sorted(masks.items()):
        if not 0 <= at < len(turns):
            raise ValueError(
                f"masked_turns names turn {at}, the chat has {len(turns)} turns, counted from 0"
            )

        turns[at] = replace(turns[at], mask=turns[at].mask or mask)

    return replace(conversation, turns=tuple(turns))
