"""Codex session logs (rollout JSON lines): one trajectory per stretch of context that the model
saw; a compaction begins a new one.

Two forms are read: lines `{timestamp, type, payload}`, and those of 2025 before September, where
items stand bare after a first line with the session's id. The logs hold no tool schemas; the base
instructions only in newer versions.
"""

from collections.abc import Iterator
from typing import Any

from synth.importers.agents.response_items import ResponseItems
from synth.importers.attempt import count_labels, entry
from synth.importers.conversation import COPIED_MASK, ConversationBuilder, usage_of
from synth.importers.records import (
    WHOLE,
    WORDS,
    Entry,
    Format,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    each,
    inside,
    is_object,
    joined_record,
)

_LINES = WORDS["codex"]["lines"]
_HARNESS = tuple(WORDS["codex"]["harness"])
_SILENT = WORDS["codex"]["silent"]
_KEPT = 80_000
"""Characters of users' messages that stay beside a summary: the program keeps 20,000 tokens."""
_COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens")


def recognises(value: Any) -> bool:
    """A line with type and payload, or one of the older form."""
    if not isinstance(value, dict):
        return False

    if value.get("type") in _LINES:
        return is_object(value, payload=dict)
    return value.get("record_type") == "state" or (
        {"id", "timestamp", "instructions"} <= value.keys() and "type" not in value
    )


class _Stretch:
    """What was said since the last compaction, with the lines that it stands on."""

    def __init__(self) -> None:
        self.items = ResponseItems(is_harness=lambda text: text.lstrip().startswith(_HARNESS))
        self.records: list[Record] = []
        self.rolled_back = 0
        # the last token count that was read: the program repeats them
        self.counts: Any = None

    def take_event(self, event: Object) -> None:
        """Events repeat the items for the screen; only token counts and rollbacks say something
        new.
        """
        chat, counts = self.items.chat, event.get("info")
        used = inside(counts, "last_token_usage", dict)

        if event.get("type") == "token_count" and used is not None and counts != self.counts:
            self.counts = counts
            if chat.notes:
                chat.notes[-1]["usage"] = usage_of(used, *_COUNTS)
        elif event.get("type") == "thread_rolled_back":
            rounds = event.get("num_turns")
            if not isinstance(rounds, int) or isinstance(rounds, bool):
                raise ValueError("thread_rolled_back without a number of turns")

            asked = [
                place
                for place, message in enumerate(chat.messages)
                if message["role"] == "user" and "name" not in message
            ]
            if rounds > 0 and asked:
                cut = asked[-min(rounds, len(asked))]
                self.rolled_back += len(chat.messages[cut:])
                del chat.messages[cut:]

            self.items.end()


class _Session:
    """State while the lines of one file are read."""

    def __init__(self) -> None:
        self.file: str | None = None
        self.instructions: str | None = None
        self.models: list[str] = []
        self.sampling: Object = {}
        self.env = "codex"
        self.stretches = [_Stretch()]

    def take(self, record: Record) -> Rejection | None:
        """Reads a line; a rejection where it cannot be used."""
        self.file, line, now = record.file, record.value, self.stretches[-1]
        if not isinstance(line, dict):
            raise ValueError("a line that is no object")

        kind = line.get("type")
        # in the older form items stand bare
        payload = line.get("payload") if kind in _LINES else line
        if not isinstance(payload, dict):
            raise ValueError(f"a line of type {kind!r} without payload")

        if kind == "session_meta":
            self._note_session(payload)
        elif kind == "turn_context":
            self._note_model(payload)
        elif kind == "compacted":
            return self._compact(record, payload)
        elif kind == "event_msg":
            now.take_event(payload)
        elif kind in _SILENT:
            return None
        elif kind is not None or ("record_type" not in line and "instructions" not in line):
            if not now.items.add(payload):
                detail = f"an item of type {str(payload.get('type'))!r}"
                return record.rejected("unknown_line", detail)

            now.records.append(record)

        return None

    def _note_session(self, payload: Object) -> None:
        # the first counts: forked sessions repeat their ancestors'
        stated = inside(payload, "base_instructions.text", str)
        self.instructions = self.instructions or stated
        if "subagent" in (inside(payload, "source", dict) or ()):
            self.env = "codex/subagent"

    def _note_model(self, payload: Object) -> None:
        model, effort = payload.get("model"), payload.get("effort")
        if isinstance(model, str) and model not in self.models:
            self.models.append(model)

        if isinstance(effort, str):
            self.sampling["reasoning_effort"] = effort

    def _compact(self, record: Record, payload: Object) -> Rejection | None:
        """What comes next sees the history that replaced the old one; where older versions store
        the summary alone, it is what users had said, and the summary.
        """
        before, now = self.stretches[-1].items.chat, _Stretch()
        self.stretches.append(now)

        history, chat = payload.get("replacement_history"), now.items.chat
        unknown = []

        if isinstance(history, list):
            unknown = [item.get("type") for item in history if not now.items.add(item)]
        elif isinstance(payload.get("message"), str):
            for text in _asked(before):
                now.items.heard("user", text)
            chat.harness(payload["message"])

        for note in chat.notes:  # they stand here a second time
            note["mask"] = COPIED_MASK

        now.records.append(record)

        if not unknown:
            return None

        detail = f"items of type {str(unknown[0])!r} in the replacement history"
        return record.rejected("unknown_line", detail)

    def read(self, record: Record) -> Entry:
        """The trajectory of a stretch, which is the record's value."""
        stretch: _Stretch = record.value
        chat = stretch.items.chat

        if self.instructions is not None:
            chat.messages.insert(0, {"role": "system", "content": self.instructions, "note": {}})

        conversation = chat.conversation()

        return entry(
            record,
            "codex",
            conversation,
            env=self.env,
            continued=not record.locator.endswith("/0"),
            marks=count_labels(conversation, rolled_back_messages=stretch.rolled_back),
            no_turns="no answer of the model in this stretch of the session",
            model=", ".join(self.models) or None,
            sampling=self.sampling,
        )


def _asked(chat: ConversationBuilder) -> list[str]:
    """What users had said, the last of it, as far as the program takes it into a new context."""
    found: list[str] = []
    left = _KEPT
    for message in reversed(chat.messages):
        text = message.get("content") or ""
        if message["role"] != "user" or "name" in message or not text:
            continue
        if len(text) > left:
            break
        found.insert(0, text)
        left -= len(text)
    return found


def trajectories(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    """The stretches of one session file, which is read whole before the first is given."""
    session = _Session()
    yield from each(records, session.take)

    spoken = [stretch for stretch in session.stretches if stretch.records]
    if session.file and not any(stretch.items.chat.notes for stretch in spoken):
        yield Rejection(session.file, WHOLE, "no_turns", "no answer of the model")
        return

    places = ((one, f"main/{number}") for number, one in enumerate(spoken))
    yield from each((joined_record(one.records, at, one) for one, at in places), session.read)


FORMAT = Format(recognises, trajectories)
