"""Messages and events of an Inspect sample -> a conversation with the tools that the model was
shown.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.importers.chats.columns import parsed
from synth.importers.conversation import (
    COPIED_MASK,
    LEFT_OUT,
    PAGES,
    UNREAD_MASK,
    ConversationBuilder,
    joined,
    note_of,
    text_of,
    tool_call,
    usage_of,
)
from synth.importers.hosted.parts import is_connector
from synth.importers.hosted.shown import shown
from synth.importers.interchange.inspect_contexts import ANSWER, COPIED, seen_contexts
from synth.importers.records import Object, inside, is_object
from synth.schemas import PROVIDER_MASK, Conversation, SampledBy, ToolSchema

_ATTACHMENTS = ("attachment://", "tc://")  # the second is what older logs write
COUNTS = ("input_tokens", "output_tokens", "input_tokens_cache_read")
_TOOL = ("name", "description", "parameters")
DATASET_MASK = "dataset_input"
"""Mask of assistant messages that came with the sample's input: the model did not write them."""


def with_attachments(value: Any, attachments: Mapping[str, str]) -> Any:
    """The value with every reference replaced by its text. Raises `ValueError` for one that is not
    there.
    """
    if isinstance(value, list):
        return [with_attachments(item, attachments) for item in value]

    if isinstance(value, dict):
        return {
            key: item if key == "attachments" else with_attachments(item, attachments)
            for key, item in value.items()
        }

    if isinstance(value, str) and value.startswith(_ATTACHMENTS):
        name = value.partition("://")[2]
        if name not in attachments:
            raise ValueError(f"attachment {name[:40]!r} is not in the log")
        return attachments[name]

    return value


def recorded(
    messages: list[Object], events: list[Object], pooled: Object
) -> tuple[Conversation, tuple[ToolSchema, ...], int]:
    """What a sample holds of the conversation: its messages (where it has none, because it broke
    early, those of its last model call), the tools as the calls that gave its answers last showed
    them, and how many messages come from a call. Raises `ValueError`.
    """
    calls = [event for event in events if _is_answered(event)]
    from_events = 0

    if not messages and calls:
        messages = [*_input(calls[-1], pooled), inside(calls[-1], ANSWER)]
        from_events = len(messages)

    # the events of a call and its answer in the conversation have the id of the message in common
    by_answer = {str(inside(call, f"{ANSWER}.id") or None): call for call in calls}

    chat = ConversationBuilder()
    shown: dict[str, ToolSchema] = {}

    for message in messages:
        if message.get("role") != "assistant":
            _hear(chat, message)
            continue

        call = by_answer.get(str(message.get("id")), {}) if message.get("id") else {}
        _take(chat, message, inside(call, "output.usage", dict))
        for tool in msgspec.convert(call.get("tools") or [], list[Object]):
            function = {key: tool[key] for key in _TOOL if key in tool}
            shown[str(tool.get("name"))] = {"type": "function", "function": function}

    return chat.conversation(), tuple(shown.values()), from_events


def contexts(messages: list[Object], events: list[Object], pooled: Object) -> list[list[Object]]:
    """The messages of each context that the model was shown. Raises `ValueError`."""
    own = [event for event in events if _is_answered(event) or event.get("event") == "compaction"]
    return seen_contexts(messages, own, lambda call: _input(call, pooled))


def _is_answered(event: Object) -> bool:
    """Whether an event is a call of the agent's own model that was answered."""
    is_own = event.get("event") == "model" and event.get("role") is None
    return is_own and not event.get("pending") and is_object(inside(event, ANSWER))


def _input(call: Object, pooled: Object) -> list[Object]:
    """What a call sent: written out, or as ranges (start, end) of a pool that all calls share."""
    ranges = call.get("input_refs")
    if call.get("input") or not ranges:
        return msgspec.convert(call.get("input") or [], list[Object])

    pool = msgspec.convert(pooled.get("messages"), list[Object])
    spans = msgspec.convert(ranges, list[tuple[int, int]])
    sent = [message for start, end in spans for message in pool[start:end]]
    if len(sent) != sum(end - start for start, end in spans):
        raise ValueError("a model call refers to messages that are not in events_data")
    return sent


def _hear(chat: ConversationBuilder, message: Object) -> None:
    """Adds what was said to the agent; the result of a tool that failed may be its error alone."""
    text = text_of(message.get("content"))
    if message.get("role") != "tool":
        chat.say(message.get("role"), text)
        return

    error = message.get("error")
    chat.result(
        text or str(inside(error, "message") or ""),
        message.get("tool_call_id"),
        name=message.get("function"),
        error=error is not None,
    )


def _take(chat: ConversationBuilder, message: Object, used: Object | None) -> None:
    """Adds an answer, with the tokens of its model call; one within which the provider ran tools is
    several, each with the result of its call.
    """
    content, begun = message.get("content"), len(chat.messages)
    held: list[Any] = []
    for part in content if isinstance(content, list) else ():
        held.append(part)
        if inside(part, "type") == "tool_use":
            _add(chat, message | {"content": held, "tool_calls": []})
            chat.result(_given(part), part.get("id"), error=bool(part.get("error")))
            held = []

    if held or len(chat.messages) == begun or message.get("tool_calls"):
        _add(chat, message | ({"content": held} if isinstance(content, list) else {}))

    cost = inside(used, "total_cost", float)
    usage = None if used is None else usage_of(used, *COUNTS, cost=cost)
    chat.messages[begun]["note"]["usage"] = usage


def _given(part: Object) -> str:
    """What a tool of the provider gave back; pages that it searched are never in a log."""
    text = shown(parsed(part.get("error") or part.get("result")))
    is_search = part.get("tool_type") == "web_search" or part.get("name") == "web_search"
    seen = part.get("error") or not is_search or LEFT_OUT.search(text)
    return text if seen else "\n".join(filter(None, (text, note_of(PAGES))))


def _add(chat: ConversationBuilder, message: Object) -> None:
    """Adds one answer; blocks that are no text stay in `raw`."""
    content, given = message.get("content"), message.get("source") == "input"
    parts = content if isinstance(content, list) else []
    blocks = [part for part in parts if isinstance(part, dict) and part.get("type") != "text"]
    thoughts = [block for block in blocks if block.get("type") == "reasoning"]
    run = [block for block in blocks if block.get("type") == "tool_use"]
    open_thoughts = (str(one.get("reasoning") or "") for one in thoughts if not one.get("redacted"))
    mask = None if len(thoughts) + len(run) == len(blocks) else UNREAD_MASK
    mask = PROVIDER_MASK if any(not is_connector(one) for one in run) else mask
    calls = [tool_call(one.get("id"), one.get("name"), one.get("arguments")) for one in run]

    for call in message.get("tool_calls") or []:
        if not is_object(call, function=str):
            raise ValueError("a tool call without the name of its function")

        calls.append(tool_call(call.get("id"), call["function"], call.get("arguments")))
        mask = "parse_error" if call.get("parse_error") else mask

    chat.answer(
        ([part for part in parts if part not in blocks] if parts else content) or None,
        thought=joined(*open_thoughts),
        calls=calls,
        raw=blocks or None,
        mask=DATASET_MASK if given else COPIED_MASK if message.get(COPIED) else mask,
        sampled_by=SampledBy.CANNED if given else None,
    )
