"""AutoGen 0.4: results of tasks (events of a team), and saved states (what each agent's model
saw).
"""

import json
from collections.abc import Iterator
from typing import Any

from synth.importers.attempt import OPEN_END, count_labels, end_of, entry, in_order
from synth.importers.chats.words import ROLES
from synth.importers.conversation import (
    ConversationBuilder,
    joined,
    note_of,
    text_of,
    tool_call,
    usage_of,
)
from synth.importers.records import (
    Entry,
    ImportSettings,
    Object,
    Record,
    by_record,
    each,
    inside,
    is_object,
)

_REQUEST, _EXECUTION = "ToolCallRequestEvent", "ToolCallExecutionEvent"
_THOUGHT, _MEMORY, _SUMMARY = "ThoughtEvent", "MemoryQueryEvent", "ToolCallSummaryMessage"
_SPOKEN = ("TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "StructuredMessage")
_KINDS = (_REQUEST, _EXECUTION, _THOUGHT, _MEMORY, _SUMMARY, *_SPOKEN)
_CONTEXT = ("AssistantMessage", "FunctionExecutionResultMessage", "UserMessage", "SystemMessage")


def recognises(value: Any) -> bool:
    """A result with its events, or a state with the context of a model."""
    return _is_result(value) or next(_contexts(value, ""), None) is not None


def _is_result(value: Any) -> bool:
    events = inside(value, "messages", list) or []
    return any(is_object(one, "source") and one.get("type") in _KINDS for one in events[:8])


def _contexts(value: Any, name: str) -> Iterator[tuple[str, list[Any]]]:
    """The agents of a state, with the messages that their models saw."""
    if not isinstance(value, dict):
        return
    messages = inside(value, "llm_context.messages", list) or []
    if any(inside(one, "type") in _CONTEXT for one in messages[:4]):
        yield name, messages
    for agent, state in (inside(value, "agent_states", dict) or {}).items():
        yield from _contexts(state, str(agent))
    yield from _contexts(value.get("agent_state"), name)


def _read(record: Record, settings: ImportSettings) -> Iterator[Entry]:
    if _is_result(record.value):
        yield _result(record)
        return
    found = list(_contexts(record.value, ""))
    for name, messages in found:
        part = record if len(found) == 1 else record.part(f"agent_states/{name}", messages)
        yield from each([part], lambda one, said=messages: _state(one, said))  # type: ignore[misc]


def _state(record: Record, messages: list[Any]) -> Entry:
    """The context of one agent's model."""
    chat = ConversationBuilder()
    for message in messages:
        kind, content = message.get("type"), message.get("content")
        if kind == "AssistantMessage":
            calls = [_call(one) for one in content] if isinstance(content, list) else []
            text = None if isinstance(content, list) else content
            chat.answer(text, thought=message.get("thought"), calls=calls)
        elif kind == "FunctionExecutionResultMessage":
            _results(chat, content)
        else:
            role = {"SystemMessage": "system", "UserMessage": "user"}[str(kind)]
            chat.say(role, _text(content))

    conversation = chat.conversation()
    return entry(record, "autogen", conversation, marks=count_labels(conversation))


def _result(record: Record) -> Entry:
    """The events of a task as one conversation. A summary of results repeats them, and is none of a
    model's answers.
    """
    value = record.value
    events = [one for one in value["messages"] if isinstance(one, dict)]
    models = {one.get("source") for one in events if _is_by_model(one)}
    chat, thought, summaries = ConversationBuilder(), None, 0

    for event in events:
        kind, content = event.get("type"), event.get("content")
        if kind == _THOUGHT:
            thought = joined(thought, _text(content))
        elif kind == _REQUEST:
            calls = [_call(one) for one in content or ()]
            chat.answer(None, thought=thought, calls=calls, **_about(event))
            thought = None
        elif kind == _EXECUTION:
            _results(chat, content)
        elif kind == _SUMMARY:
            summaries += 1
        elif kind in _SPOKEN and event.get("source") in models:
            chat.answer(_text(content), thought=thought, **_about(event))
            thought = None
        elif kind in _SPOKEN and ROLES.get(str(event.get("source")).lower()) == "user":
            chat.say("user", _text(content))
        else:
            chat.harness(_text(content) if kind in _KINDS else note_of(kind))

    conversation = chat.conversation()
    stopped = str(value.get("stop_reason") or "").lower()
    limited = "maximum number of" in stopped  # of messages, or of turns
    return entry(
        record,
        "autogen",
        conversation,
        marks=count_labels(conversation, summaries_of_results=summaries),
        end=end_of("turn_limit") if limited else OPEN_END,
    )


def _is_by_model(event: Object) -> bool:
    """Whether an event shows that its source is a model."""
    kinds = (_REQUEST, _THOUGHT)
    return event.get("type") in kinds or isinstance(event.get("models_usage"), dict)


def _about(event: Object) -> Object:
    used = event.get("models_usage")
    counts = usage_of(used, "prompt_tokens", "completion_tokens", "cached_tokens")
    return {"usage": counts} if isinstance(used, dict) else {}


def _call(value: Any) -> Object:
    return tool_call(value.get("id"), value["name"], value.get("arguments"))


def _results(chat: ConversationBuilder, content: Any) -> None:
    for one in content or ():
        failed = one.get("is_error") is True
        chat.result(_text(one.get("content")), one.get("call_id"), error=failed)


def _text(content: Any) -> Any:
    """Text, or the texts of memories and of parts; an object as JSON."""
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    if not isinstance(content, list):
        return content
    parts = (one.get("content", one) if isinstance(one, dict) else one for one in content)
    return text_of([one if isinstance(one, str | dict) else str(one) for one in parts])


FORMAT = by_record(recognises, _read, in_order)
