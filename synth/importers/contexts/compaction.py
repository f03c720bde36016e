"""Where a context was compacted: what came before was never shown to the model again, and stands in
a trajectory of its own.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from synth.importers.records import Object, Record, inside

COMPACTION = "begins a context"
"""Key of a message in a builder's form that stands for what was said before it: for `ALL` of it, or
for all but what the user said (`ANSWERED`).
"""
ALL = "all"
ANSWERED = "answered"


def begun_by(part: Any) -> str | None:
    """The summary that a part of a message is, for all that came before it; None for any other
    part. A compaction that failed is none.
    """
    told = inside(part, "content", str) if inside(part, "type") == "compaction" else None
    return told or None


def contexts(messages: Sequence[Object]) -> list[list[Object]]:
    """The messages as the contexts that the model saw: one, or one more for each compaction. The
    system prompt stands before each of them; nothing that was not answered is a context.

    Messages of the user that were kept before a summary belong to its context.
    """
    first = messages[0] if messages else {"role": None}
    system = [first] if first["role"] in ("system", "developer") else []
    found: list[list[Object]] = [list(system)]

    for message in messages[len(system) :]:
        begins = message.get(COMPACTION)
        if begins == ALL or (begins and _is_answered(found[-1])):
            found.append(list(system))
        found[-1].append(message)

    return [one for one in found[:-1] if _is_answered(one)] + found[-1:]


def answered_in(
    sent: Sequence[Object], given: Sequence[Object]
) -> list[tuple[list[Object], list[Object]]]:
    """What a call sent and what it gave, for each context that it was answered in: one, or another
    behind each compaction.
    """
    shown, answers = contexts(sent)[-1], {id(one) for one in given}
    found = []
    for context in contexts([*shown, *given]):
        places = (at for at, one in enumerate(context) if id(one) in answers)
        at = next((at for at in places if not context[at].get(COMPACTION)), None)
        if at is not None:
            found.append((context[:at], context[at:]))
    return found or [(shown, list(given))]


def in_places(
    record: Record, parts: Sequence[list[Object]]
) -> Iterator[tuple[Record, list[Object], bool]]:
    """Each context of a record with its place in it, and whether it goes on from another."""
    for at, part in enumerate(parts):
        place = f"{record.locator}/contexts/{at}"
        yield record if len(parts) == 1 else replace(record, locator=place), part, at > 0


def _is_answered(messages: Sequence[Object]) -> bool:
    return any(one["role"] == "assistant" for one in messages)


def goes_on(messages: Sequence[Object]) -> bool:
    """Whether a context stands on a summary of one before it."""
    spoken = (one for one in messages if one["role"] not in ("system", "developer"))
    return any(one.get(COMPACTION) for one in spoken)
