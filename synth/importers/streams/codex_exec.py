"""The stream of `codex exec --json`: `thread.started`, items that start and complete, turns."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from synth.importers.attempt import OPEN_END, End, count_labels, entry, stated_end
from synth.importers.conversation import PAGES, ConversationBuilder, joined, note_of, tool_call
from synth.importers.records import (
    Entry,
    Format,
    Object,
    Record,
    each,
    in_runs,
    inside,
)
from synth.importers.traces.model_call import used
from synth.schemas import PROVIDER_MASK

_TYPES = ("thread.started", "turn.started", "item.started", "item.completed", "turn.completed")
SHELL = "shell"
"""The tool that its commands are calls of."""


def recognises(value: Any) -> bool:
    """A line of the stream."""
    return inside(value, "type") in _TYPES


def add_stream(chat: ConversationBuilder, events: Sequence[Any]) -> End:
    """Adds the items of a stream to a conversation, and says how it ended. Raises `ValueError`.

    What the agent gave between two answers of the world is one answer of the model.
    """
    end, answer = OPEN_END, None
    for event in events:
        kind, item = inside(event, "type", str), inside(event, "item", dict) or {}
        if kind == "turn.completed":
            end = stated_end("completed")
            _count(chat, event)
        elif kind in ("turn.failed", "error"):
            end = stated_end("api_error")
        if kind != "item.completed":
            continue

        what = item.get("type") or item.get("item_type")
        words = str(item.get("text") or "")
        if what in ("agent_message", "assistant_message", "reasoning"):
            if answer is None or answer["content"] is not None:
                answer = chat.answer()
            if what == "reasoning":
                answer["reasoning_content"] = joined(answer["reasoning_content"], words)
            else:
                answer["content"] = words
        elif (acted := _call(item, str(what))) is not None:
            name, arguments, output, failed = acted
            if answer is None:
                answer = chat.answer()
            call_id = str(item.get("id"))
            answer["tool_calls"].append(tool_call(call_id, name, arguments))
            if what == "web_search":
                answer["note"]["mask"] = PROVIDER_MASK
            chat.result(output, call_id, error=failed)
            answer = None

    return end


def _call(item: Object, what: str) -> tuple[str, str, str, bool] | None:
    """Name, arguments, output and failure of an item that is a call; None of any other."""
    failed = item.get("status") == "failed"
    if what == "command_execution":
        code = item.get("exit_code")
        output = str(item.get("aggregated_output") or "")
        return SHELL, _text({"command": item.get("command")}), output, code not in (0, None)
    if what == "mcp_tool_call":
        result = item.get("result", item.get("error"))
        text = result if isinstance(result, str) else _text(result)
        name = f"{item.get('server')}.{item.get('tool')}"
        return name, _text(item.get("arguments") or {}), text, failed or bool(item.get("error"))
    if what == "file_change":
        return "apply_patch", _text({"changes": item.get("changes")}), "", failed
    if what == "web_search":
        return "web_search", _text({"query": item.get("query")}), note_of(PAGES), failed
    return None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _count(chat: ConversationBuilder, event: Any) -> None:
    """The tokens of a turn of the stream, on the last answer that belongs to it."""
    usage = used(inside(event, "usage", dict))
    if usage is not None and chat.notes:
        chat.notes[-1]["usage"] = usage


def _begins(value: Any) -> bool:
    return bool(inside(value, "type") == "thread.started")


def _stream(record: Record) -> Entry:
    """The trajectory of one thread; the stream does not hold what was asked."""
    chat = ConversationBuilder()
    end = add_stream(chat, record.value)
    conversation = chat.conversation()
    return entry(
        replace(record, value={}),
        "codex_exec",
        conversation,
        end=end,
        fault_detail="the turn failed",
        marks=count_labels(conversation),
        names=(inside(record.value, "0.thread_id", str),),
    )


FORMAT = Format(recognises, lambda records, settings: each(in_runs(records, _begins), _stream))
