"""Codex session logs (rollout JSON lines): one trajectory per stretch of context that the model
saw; a compaction begins a new one.

Two forms are read: lines `{timestamp, type, payload}`, and those of 2025 before September, where
items stand bare after a first line with the session's id. The logs hold no tool schemas; the base
instructions only in newer versions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.importers.attempt import entry, import_task, unresolved
from synth.importers.conversation import counted, goal_of
from synth.importers.records import (
    WHOLE,
    Entry,
    Format,
    ImportedLabel,
    ImportSettings,
    Record,
    Rejection,
    is_object,
    joined_record,
)
from synth.importers.response_items import ResponseItems
from synth.schemas.trajectory import Usage

_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_HARNESS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<user_shell_command>",
    "<skill>",
    "<permissions instructions>",
    "<subagent_notification>",
    "<personality_spec>",
    "<collaboration_mode>",
    "<ENVIRONMENT_CONTEXT>",
)


def recognises(value: Any) -> bool:
    """A line with type and payload, or one of the older form."""
    if not isinstance(value, Mapping):
        return False
    if value.get("type") in _TYPES:
        return is_object(value, payload=dict)
    return value.get("record_type") == "state" or (
        {"id", "timestamp", "instructions"} <= value.keys() and "type" not in value
    )


class _Stretch(msgspec.Struct):
    """What was said since the last compaction, with the lines that it stands on."""

    items: ResponseItems
    records: list[Record]
    seen_usage: Any = None


class _Session:
    """State while the lines of one file are read."""

    def __init__(self) -> None:
        self.instructions: str | None = None
        self.models: list[str] = []
        self.sampling: dict[str, Any] = {}
        self.is_subagent = False
        self.stretches: list[_Stretch] = []
        self.begin()

    @property
    def now(self) -> _Stretch:
        return self.stretches[-1]

    def begin(self) -> None:
        items = ResponseItems(is_harness=lambda text: text.lstrip().startswith(_HARNESS))
        self.stretches.append(_Stretch(items, []))


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """The stretches of one session file, which is read whole before the first is given."""
    session = _Session()
    first: Record | None = None
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        first = first or record
        try:
            known = _take(session, record)
        except (ValueError, RecursionError) as error:
            yield record.rejected("bad_record", str(error))
            continue
        if known is not None:
            yield record.rejected(*known)
    spoken = [stretch for stretch in session.stretches if stretch.records]
    if first is not None and not any(stretch.items.chat.notes for stretch in spoken):
        yield Rejection(first.file, WHOLE, "no_turns", "no answer of the model")
        return
    for index, stretch in enumerate(spoken):
        yield _read(session, stretch, f"main/{index}")


FORMAT = Format(recognises, trajectories)


def _take(session: _Session, record: Record) -> tuple[str, str] | None:
    """Reads a line; the reason and detail of a rejection where it cannot be used."""
    line = record.value
    if not isinstance(line, Mapping):
        raise ValueError("a line that is no object")
    kind, payload = line.get("type"), line.get("payload")
    if kind not in _TYPES:
        payload = line
    if not isinstance(payload, Mapping):
        raise ValueError(f"a line of type {kind!r} without payload")
    if kind == "session_meta":
        _take_meta(session, payload)
    elif kind == "turn_context":
        _take_context(session, payload)
    elif kind == "compacted":
        return _compact(session, record, payload)
    elif kind == "event_msg":
        _take_event(session, payload)
    elif kind is not None or ("record_type" not in line and "instructions" not in line):
        if not session.now.items.add(payload):
            return "unknown_line", f"an item of type {str(payload.get('type'))!r}"
        session.now.records.append(record)
    return None


def _take_meta(session: _Session, meta: Mapping[str, Any]) -> None:
    """The first line counts; forked sessions repeat those of their ancestors."""
    base = meta.get("base_instructions")
    text = base.get("text") if isinstance(base, Mapping) else None
    session.instructions = session.instructions or (text if isinstance(text, str) else None)
    source = meta.get("source")
    session.is_subagent = session.is_subagent or (
        isinstance(source, Mapping) and "subagent" in source
    )


def _take_context(session: _Session, context: Mapping[str, Any]) -> None:
    model, effort = context.get("model"), context.get("effort")
    if isinstance(model, str) and model not in session.models:
        session.models.append(model)
    if isinstance(effort, str):
        session.sampling["reasoning_effort"] = effort


def _compact(
    session: _Session, record: Record, payload: Mapping[str, Any]
) -> tuple[str, str] | None:
    """What comes next sees the history that replaced the old one; older versions store the summary
    alone.
    """
    session.begin()
    history = payload.get("replacement_history")
    kinds = (
        [item.get("type") for item in history if not session.now.items.add(item)]
        if isinstance(history, list)
        else []
    )
    if not isinstance(history, list) and isinstance(payload.get("message"), str):
        session.now.items.chat.harness(payload["message"])
    session.now.items.mark_as_copied()
    session.now.records.append(record)
    return (
        ("unknown_line", f"items of type {str(kinds[0])!r} in the replacement history")
        if kinds
        else None
    )


def _take_event(session: _Session, event: Mapping[str, Any]) -> None:
    """Events repeat the items for the screen; only token counts and rollbacks say something new."""
    kind, stretch = event.get("type"), session.now
    if kind == "token_count":
        counts = event.get("info")
        usage = counts.get("last_token_usage") if isinstance(counts, Mapping) else None
        if isinstance(usage, Mapping) and counts != stretch.seen_usage:
            stretch.seen_usage = counts
            stretch.items.note_usage(_usage(usage))
    elif kind == "thread_rolled_back":
        turns = event.get("num_turns")
        if not isinstance(turns, int) or isinstance(turns, bool):
            raise ValueError("thread_rolled_back without a number of turns")
        stretch.items.roll_back(turns)


def _usage(usage: Mapping[str, Any]) -> Usage:
    sent, given, cached = (
        counted(usage, name) for name in ("input_tokens", "output_tokens", "cached_input_tokens")
    )
    return Usage(sent, given, cached, 1)


def _read(session: _Session, stretch: _Stretch, place: str) -> Entry:
    record, items = joined_record(stretch.records, place), stretch.items
    if session.instructions is not None:
        items.chat.messages.insert(0, {"role": "system", "content": session.instructions})
    try:
        conversation = items.chat.conversation()
        env = "codex/subagent" if session.is_subagent else "codex"
        rolled_back = ImportedLabel("rolled_back_messages", float(items.rolled_back))
        return entry(
            record,
            "codex",
            conversation,
            import_task(env, goal_of(conversation)),
            marks=((rolled_back,) if items.rolled_back else ()) + unresolved(conversation),
            no_turns="no answer of the model in this stretch of the session",
            model=", ".join(session.models) or None,
            sampling=session.sampling,
        )
    except (ValueError, RecursionError) as error:
        return record.rejected("bad_record", str(error))
