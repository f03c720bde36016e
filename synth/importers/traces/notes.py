"""What a trace says beside its calls of a model: scores of the whole, and further names."""

from collections.abc import Iterable

import msgspec

from synth.importers.records import ImportedLabel


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
