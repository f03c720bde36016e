"""Messages and events of an Inspect sample -> a conversation with the tools that the model was
shown.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.importers.conversation import (
    UNREAD_MASK,
    ConversationBuilder,
    TurnNote,
    counted,
    joined,
    text_of,
    tool_call,
)
from synth.importers.records import ImportedLabel
from synth.schemas.messages import Conversation
from synth.schemas.trajectory import SampledBy, ToolSchema, Usage

_ATTACHMENTS = ("attachment://", "tc://")  # the second is what older logs write
DATASET_MASK = "dataset_input"
"""Mask of assistant messages that came with the sample's input: the model did not write them."""


def with_attachments(value: Any, attachments: Mapping[str, str]) -> Any:
    """The value with every reference replaced by its text. Raises `ValueError` for one that is not
    there.
    """
    if isinstance(value, str):
        for protocol in _ATTACHMENTS:
            if value.startswith(protocol):
                name = value.removeprefix(protocol)
                if name not in attachments:
                    raise ValueError(f"attachment {name[:40]!r} is not in the log")
                return attachments[name]
        return value
    if isinstance(value, list):
        return [with_attachments(item, attachments) for item in value]
    if isinstance(value, dict):
        return {
            key: item if key == "attachments" else with_attachments(item, attachments)
            for key, item in value.items()
        }
    return value


def recorded(
    messages: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    pooled: Mapping[str, Any] | None,
) -> tuple[Conversation, tuple[ToolSchema, ...], tuple[ImportedLabel, ...]]:
    """What a sample holds of the conversation: its messages (where it has none, because it broke
    early, those of its last model call), the tools, and labels. Raises `ValueError`.
    """
    calls = [
        event
        for event in events
        if event.get("event") == "model" and event.get("role") is None and not event.get("pending")
    ]
    labels: tuple[ImportedLabel, ...] = ()
    if not messages and (messages := _of_last_call(calls, pooled)):
        labels = (ImportedLabel("messages_from_events", float(len(messages))),)
    by_answer = {answer: call for call in calls if (answer := _answer_id(call)) is not None}
    chat = ConversationBuilder()
    ours = []
    for message in messages:
        if message.get("role") != "assistant":
            _hear(chat, message)
            continue
        call = by_answer.get(str(message.get("id")))
        ours += [] if call is None else [call]
        _take(chat, message, call)
    return chat.conversation(), _tools(ours), labels


def _of_last_call(
    calls: Sequence[Mapping[str, Any]], pooled: Mapping[str, Any] | None
) -> list[Mapping[str, Any]]:
    for call in reversed(calls):
        answer = _answer(call)
        if answer is not None:
            return [*_input(call, pooled), answer]
    return []


def _input(call: Mapping[str, Any], pooled: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """What a call sent: written out, or as ranges (start, end) of a pool that all calls share."""
    sent: Any = call.get("input") or []
    if not sent and call.get("input_refs"):
        ranges = msgspec.convert(call["input_refs"], list[tuple[int, int]])
        pool = msgspec.convert((pooled or {}).get("messages"), list[dict[str, Any]])
        sent = [message for start, end in ranges for message in pool[start:end]]
        if len(sent) != sum(end - start for start, end in ranges):
            raise ValueError("a model call refers to messages that are not in events_data")
    return list(msgspec.convert(sent, list[dict[str, Any]]))


def _answer(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    output = call.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return message if isinstance(message, Mapping) else None


def _answer_id(call: Mapping[str, Any]) -> str | None:
    answer = _answer(call)
    return str(answer["id"]) if answer is not None and answer.get("id") else None


def _hear(chat: ConversationBuilder, message: Mapping[str, Any]) -> None:
    text = text_of(message.get("content"))
    if message.get("role") != "tool":
        chat.say(message.get("role"), text)
        return
    error = message.get("error")
    told = error.get("message") if isinstance(error, Mapping) else None
    chat.result(
        text or str(told or ""),
        message.get("tool_call_id"),
        name=message.get("function"),
        error=error is not None,
    )


def _take(
    chat: ConversationBuilder, message: Mapping[str, Any], call: Mapping[str, Any] | None
) -> None:
    """Adds an answer, and the model call that gave it; blocks that are no text stay in `raw`."""
    content = message.get("content")
    parts: list[Any] = content if isinstance(content, list) else []
    blocks = [part for part in parts if isinstance(part, Mapping) and part.get("type") != "text"]
    said = [part for part in parts if part not in blocks] if parts else content
    thoughts = (
        str(block.get("reasoning") or "")
        for block in blocks
        if block.get("type") == "reasoning" and not block.get("redacted")
    )
    requested = message.get("tool_calls") or []
    note = TurnNote(usage=_usage(call))
    if blocks:
        note.raw = json.dumps(blocks, ensure_ascii=False)
    if any(block.get("type") != "reasoning" for block in blocks):
        note.mask = UNREAD_MASK
    if any(isinstance(one, Mapping) and one.get("parse_error") for one in requested):
        note.mask = "parse_error"
    if message.get("source") == "input":
        note.mask, note.sampled_by = DATASET_MASK, SampledBy.CANNED
    chat.answer(
        text_of(said) or None,
        thought=joined(*thoughts),
        calls=[_call(one) for one in requested],
        note=note,
    )


def _call(call: Any) -> dict[str, Any]:
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), str):
        raise ValueError("a tool call without the name of its function")
    return tool_call(call.get("id"), call["function"], call.get("arguments"))


def _usage(call: Mapping[str, Any] | None) -> Usage | None:
    output = (call or {}).get("output")
    usage = output.get("usage") if isinstance(output, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    sent, given, cached = (
        counted(usage, name)
        for name in ("input_tokens", "output_tokens", "input_tokens_cache_read")
    )
    cost = usage.get("total_cost")
    return Usage(sent, given, cached, 1, cost if isinstance(cost, float) else None)


def _tools(calls: Sequence[Mapping[str, Any]]) -> tuple[ToolSchema, ...]:
    """Tools of the calls that gave the conversation's answers, each name as it was last shown."""
    shown: dict[str, ToolSchema] = {}
    for call in calls:
        for tool in msgspec.convert(call.get("tools") or [], list[dict[str, Any]]):
            function = {
                key: tool[key] for key in ("name", "description", "parameters") if key in tool
            }
            shown[str(tool.get("name"))] = {"type": "function", "function": function}
    return tuple(shown.values())
