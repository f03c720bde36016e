"""One call of a model, as a log of calls or a trace holds it, the tokens that it used, and what a
trace says beside its calls: scores of the whole, and further names.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from synth.importers.attempt import OPEN_END, End
from synth.importers.conversation import counted, usage_of
from synth.importers.records import ImportedLabel, Object, Record
from synth.schemas import Usage


class ModelCall(msgspec.Struct, kw_only=True):
    """One call: the messages that it sent, and what came back, in a builder's form. `group` is the
    trace or session that it belongs to, `order` its place there.
    """

    record: Record
    sent: list[Object]
    given: list[Object]
    group: str | None = None
    order: Any = None
    tools: tuple[Object, ...] = ()
    model: str | None = None
    sampling: Object = {}
    end: End = OPEN_END
    marks: list[ImportedLabel] = []
    names: tuple[str, ...] = ()
    """What the trace or the call is called."""
    whole: bool = False
    """Not a call, but a whole conversation: it stands where the group has no calls."""


class TraceNote(msgspec.Struct, frozen=True):
    """For every conversation that is called `key`: a trace, or a session."""

    key: str
    marks: tuple[ImportedLabel, ...] = ()
    names: tuple[str, ...] = ()


class TraceNotes:
    """Those of a file, which may stand before the calls that they are of, or behind them."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[TraceNote]] = {}

    def take(self, note: TraceNote) -> None:
        """Keeps a note that says something."""
        if note.marks or note.names:
            self._by_key.setdefault(note.key, []).append(note)

    def of(self, names: Iterable[str]) -> tuple[list[ImportedLabel], list[str]]:
        """The marks and the names for a conversation with these names, in their order."""
        found = [note for name in names for note in self._by_key.get(name, ())]
        marks = [mark for note in found for mark in note.marks]
        return marks, [name for note in found for name in note.names]


def used(counts: Any) -> Usage | None:
    """Tokens of a call, by whichever of the usual names; None where none is counted."""
    if not isinstance(counts, dict):
        return None
    details = counts.get("prompt_tokens_details") or counts.get("input_tokens_details") or {}
    cached = counted(details, "cached_tokens") or counted(
        counts, "cache_read_input_tokens", "cached_tokens"
    )
    sent, given = (
        "prompt_tokens input_tokens inputTokens input prompt",
        "completion_tokens output_tokens outputTokens output",
    )
    found = usage_of({**counts, "hit": cached}, sent, f"{given} completion", "hit")
    return found if found.prompt_tokens or found.completion_tokens else None
