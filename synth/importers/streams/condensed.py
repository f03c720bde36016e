"""What OpenHands forgets: a condensation takes events out of the model's view, and may put a
summary in their place. The answers that stay were given before it.
"""

from collections.abc import Sequence
from typing import Any

from synth.importers.conversation import COPIED_MASK, ConversationBuilder
from synth.importers.records import Object, inside

EVENTS = "events"
"""Key of a message in a builder's form: its events, and the call that each of them is."""


def of_event(message: Object, event: Object, call_id: Any = None) -> None:
    """Notes on a message which event said it."""
    events = message.setdefault(EVENTS, {})
    events[event.get("id")] = call_id or events.get(event.get("id"))


def forgotten_by(event: Object, known: Sequence[Any]) -> set[Any]:
    """The events that a condensation takes out: those that it lists, or a range of them."""
    told = event.get("args") or event
    listed = told.get("forgotten_event_ids")
    first, last = (told.get(f"forgotten_events_{end}_id") for end in ("start", "end"))
    if listed is None and isinstance(first, int) and isinstance(last, int):
        listed = range(first, last + 1)
    return set(known) & set(listed or ())


def condensed(messages: Sequence[Object], event: Object) -> list[Object] | None:
    """What the model saw next; None where nothing was taken out."""
    known = [name for message in messages for name in message.get(EVENTS, ())]
    forgotten = forgotten_by(event, known)
    told = event.get("args") or event
    summary, offset = told.get("summary"), told.get("summary_offset")
    if not forgotten:
        return None

    kept = [one for one in (_without(message, forgotten) for message in messages) if one]
    if isinstance(summary, str) and summary and isinstance(offset, int):
        chat = ConversationBuilder()
        chat.harness(summary)
        kept.insert(_place(kept, offset), chat.messages[0])
    return kept


def _without(message: Object, forgotten: set[Any]) -> Object | None:
    """A message without the events that were taken out; None where none is left."""
    events = message.get(EVENTS, {})
    left = {name: call for name, call in events.items() if name not in forgotten}
    if events and not left:
        return None
    if message["role"] != "assistant":
        return dict(message)

    gone = {call for name, call in events.items() if name in forgotten}
    calls = [one for one in message["tool_calls"] if inside(one, "id") not in gone]
    note = message["note"] | {"mask": message["note"].get("mask") or COPIED_MASK}
    return message | {"tool_calls": calls, "note": note, EVENTS: left}


def _place(messages: Sequence[Object], offset: int) -> int:
    """Where a summary stands that so many events come before."""
    passed = 0
    for place, message in enumerate(messages):
        if passed >= offset:
            return place
        passed += len(message.get(EVENTS, ())) or 1
    return len(messages)
