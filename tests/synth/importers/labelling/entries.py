"""Imported attempts with scores."""

from msgspec.structs import replace

from synth.importers.attempt import entry
from synth.importers.conversation import ConversationBuilder
from synth.importers.records import Imported, ImportedLabel, Record


def scored(*marks: ImportedLabel) -> Imported:
    """An attempt of unknown outcome with these marks."""
    chat = ConversationBuilder()
    chat.say("user", "q")
    chat.answer("a")
    found = entry(Record("f", "s", "0", {}), "messages", chat.conversation())
    assert isinstance(found, Imported)
    return replace(found, marks=marks)
