"""Messages and events of an Inspect sample -> a conversation with the tools that the model was
shown.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.importers.message_parts import UNREAD_MASK, text_of
from synth.importers.records import Mark
from synth.importers.turn_notes import TurnNote, counted, noted_conversation
from synth.schemas.messages import Conversation
from synth.schemas.trajectory import SampledBy, ToolSchema, Usage

_ATTACHMENTS = ("attachment://", "tc://")  # the second is what older logs write
DATASET_MASK = "dataset_input"
"""Mask of assistant messages that came with the sample's input: the model did not write them."""


class Recorded(msgspec.Struct, frozen=True):
    """What a sample holds of the conversation."""

    conversation: Conversation
    tools: tuple[ToolSchema, ...]
    marks: tuple[Mark, ...] = ()


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
) -> Recorded:
    """The sample's messages; where it has none (it broke early), those of its last model call.
    Raises `ValueError`.
    """
    calls = [
        event
        for event in events
        if event.get("event") == "model" and event.get("role") is None and not event.get("pending")
    ]
    marks: tuple[Mark, ...] = ()
    if not messages:
        messages = _of_last_call(calls, pooled)
        marks = (Mark("messages_from_events", float(len(messages))),) if messages else ()
    by_answer = {answer: call for call in calls if (answer := _answer_id(call)) is not None}
    ours = [
        by_answer[str(m["id"])]
        for m in messages
        if m.get("role") == "assistant" and str(m.get("id")) in by_answer
    ]
    read = [_message(message) for message in messages]
    notes = [
        _note(m, by_answer.get(str(m.get("id")))) for m in messages if m.get("role") == "assistant"
    ]
    return Recorded(noted_conversation(read, notes), _tools(ours), marks)


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


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        parts: list[Any] = content if isinstance(content, list) else []
        said = [part for part in parts if not _is_block(part)] if parts else content
        thoughts = [
            str(part.get("reasoning") or "")
            for part in parts
            if _is_block(part, "reasoning") and not part.get("redacted")
        ]
        thought = "\n".join(filter(None, thoughts)) or None
        return {
            "role": role,
            "content": text_of(said) or None,
            "reasoning_content": thought,
            "tool_calls": _calls(message.get("tool_calls")),
        }
    if role != "tool":
        return {"role": role, "content": text_of(content)}
    error = message.get("error")
    text = text_of(content) or str(
        (error.get("message") if isinstance(error, Mapping) else None) or ""
    )
    call_id = message.get("tool_call_id")
    return {
        "role": role,
        "content": text,
        "tool_call_id": call_id,
        "name": message.get("function"),
        "error": error is not None,
    }


def _is_block(part: Any, kind: str | None = None) -> bool:
    """Whether a part of an answer is no text (and of that kind)."""
    return (
        isinstance(part, Mapping)
        and part.get("type") != "text"
        and (kind is None or part.get("type") == kind)
    )


def _calls(calls: Any) -> list[dict[str, Any]]:
    """`{id, function, arguments}` in OpenAI's form. Raises `ValueError`."""
    read = []
    for call in calls or []:
        if not isinstance(call, Mapping) or not isinstance(call.get("function"), str):
            raise ValueError("a tool call without the name of its function")
        function = {"name": call["function"], "arguments": call.get("arguments")}
        read.append({"id": call.get("id"), "type": "function", "function": function})
    return read


def _note(message: Mapping[str, Any], call: Mapping[str, Any] | None) -> TurnNote:
    content = message.get("content")
    blocks = [part for part in content if _is_block(part)] if isinstance(content, list) else []
    note = TurnNote(
        raw=json.dumps(blocks, ensure_ascii=False) if blocks else None, usage=_usage(call)
    )
    if any(part.get("type") != "reasoning" for part in blocks):
        note.mask = UNREAD_MASK
    if any(
        isinstance(one, Mapping) and one.get("parse_error")
        for one in message.get("tool_calls") or []
    ):
        note.mask = "parse_error"
    if message.get("source") == "input":
        note.mask, note.sampled_by = DATASET_MASK, SampledBy.CANNED
    return note


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
