"""Lines of a Claude Code session: which are messages, and what they say."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
from synth.importers.records import Record, Rejection, is_object, one_line
from synth.schemas.messages import Conversation
from synth.schemas.trajectory import SampledBy, Usage

_PROGRAM_LINES = (
    "summary file-history-snapshot queue-operation progress attachment system turn_end "
    "custom-title ai-title agent-name agent-color tag pr-link last-prompt mode permission-mode "
    "worktree-state content-replacement saved_hook_context hook task-summary"
)
_SILENT = frozenset(_PROGRAM_LINES.split())
"""Types of lines that record the program, not the conversation."""
_SYNTHETIC = "<synthetic>"
_HARNESS = (
    "[Request interrupted by user",
    "<command-name>",
    "<local-command-",
    "<bash-",
    "<system-reminder>",
    "<task-notification>",
)


class _Message(msgspec.Struct):
    content: Any = None
    role: str | None = None
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class Line(msgspec.Struct, kw_only=True):
    """One line that has a place in the conversation; `message` is None for those that only link
    others.
    """

    record: Record
    type: str
    uuid: str | None = None
    parent: str | None = None
    is_sidechain: bool = False
    agent_id: str | None = None
    is_boundary: bool = False
    is_summary: bool = False
    is_meta: bool = False
    is_error: bool = False
    message: _Message | None = None


class _Raw(msgspec.Struct, rename="camel"):
    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    message: _Message | None = None


def recognises(value: Any) -> bool:
    """A message with its session, or one of the lines that may stand before the first."""
    if not is_object(value, "type"):
        return False
    if value["type"] in ("user", "assistant", "system", "progress", "attachment"):
        return "sessionId" in value and ("uuid" in value or "parentUuid" in value)
    kinds = {
        "summary": "leafUuid",
        "file-history-snapshot": "messageId",
        "queue-operation": "sessionId",
    }
    return any(value["type"] == kind and key in value for kind, key in kinds.items())


def line_of(record: Record) -> Line | Rejection | None:
    """The line of a record; None for one that has no place in a conversation. Raises `ValueError`
    for a malformed one.
    """
    raw = msgspec.convert(record.value, _Raw)
    speaks = raw.type in ("user", "assistant")
    if not speaks and raw.type not in _SILENT:
        return record.rejected("unknown_line", f"a line of type {one_line(raw.type)!r}")
    if speaks and raw.message is None:
        raise ValueError(f"a line of type {raw.type!r} without message")
    if raw.uuid is None and not speaks:
        return None
    return Line(
        record=record,
        type=raw.type,
        uuid=raw.uuid,
        parent=raw.parent_uuid or raw.logical_parent_uuid,
        is_sidechain=bool(raw.is_sidechain),
        agent_id=raw.agent_id,
        is_boundary=raw.type == "system" and raw.subtype == "compact_boundary",
        is_summary=bool(raw.is_compact_summary),
        is_meta=bool(raw.is_meta),
        is_error=bool(raw.is_api_error_message),
        message=raw.message if speaks else None,
    )


def blocks(line: Line, kind: Literal["tool_use", "tool_result"]) -> list[Mapping[str, Any]]:
    """The blocks of one kind in a line's message."""
    content = line.message.content if line.message is not None else None
    return (
        [part for part in content if isinstance(part, Mapping) and part.get("type") == kind]
        if isinstance(content, list)
        else []
    )


def conversation_of(lines: Sequence[Line]) -> Conversation:
    """The lines as a conversation: the lines of one reply (one `message.id`) are one message, in
    the place of its first line. Raises `ValueError`.
    """
    chat = ConversationBuilder()
    replies: dict[str, tuple[dict[str, Any], TurnNote, list[Any]]] = {}
    for line in lines:
        if line.message is None:
            continue
        content = line.message.content
        parts = (
            content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
        )
        if line.type == "user":
            _hear(chat, line, parts)
            continue
        name = line.message.id or line.record.locator
        if name not in replies:
            replies[name] = (chat.answer(), chat.notes[-1], [])
        _take(line, line.message, parts, *replies[name])
    return chat.conversation()


def _take(
    line: Line,
    message: _Message,
    parts: Sequence[Any],
    answer: dict[str, Any],
    note: TurnNote,
    kept: list[Any],
) -> None:
    """Adds a line's blocks to its reply. Thinking blocks stay in `raw` with their signatures."""
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text":
            answer["content"] = joined(answer["content"], text_of([part]))
        elif kind == "tool_use":
            call = tool_call(part.get("id"), part.get("name"), part.get("input"))
            answer["tool_calls"].append(call)
        else:
            kept.append(part)
            note.raw = json.dumps(kept, ensure_ascii=False)
            if kind == "thinking":
                thought = str(part.get("thinking") or "")
                answer["reasoning_content"] = joined(answer["reasoning_content"], thought)
            elif kind != "redacted_thinking":
                note.mask = UNREAD_MASK
    if message.usage is not None:
        note.usage = _usage(message.usage)
    if message.model == _SYNTHETIC or line.is_error:
        note.mask, note.sampled_by = "written_by_harness", SampledBy.CANNED


def _hear(chat: ConversationBuilder, line: Line, parts: Sequence[Any]) -> None:
    """A user line: results of tools, and what the user said (or the program in the user's name)."""
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == "tool_result":
            failed = part.get("is_error") is True
            chat.result(text_of(part.get("content")), part.get("tool_use_id"), error=failed)
            continue
        text = text_of([part])
        if line.is_meta or line.is_summary or text.lstrip().startswith(_HARNESS):
            chat.harness(text)
        else:
            chat.say("user", text)


def _usage(usage: Mapping[str, Any]) -> Usage:
    """One reply's tokens; every line of it repeats them, so the last line counts."""
    names = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    )
    fresh, written, cached, out = (counted(usage, name) for name in names)
    return Usage(fresh + written + cached, out, cached, 1)


def models_of(lines: Sequence[Line]) -> list[str]:
    """The models that answered, in order of appearance."""
    named = [
        line.message.model
        for line in lines
        if line.message is not None and line.type == "assistant"
    ]
    return list(dict.fromkeys(name for name in named if name is not None and name != _SYNTHETIC))


def ended_in_error(lines: Sequence[Line]) -> str | None:
    """What the program said if the last reply is its report that the model could not be reached."""
    last = next((line for line in reversed(lines) if line.message is not None), None)
    if last is None or not last.is_error or last.message is None:
        return None
    return one_line(text_of(last.message.content))
