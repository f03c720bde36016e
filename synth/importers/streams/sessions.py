"""Session traces (STS), as the Hub shows them: a line of type `session`, then one per message; a
file may hold several sessions.
"""

from collections.abc import Iterator
from typing import Any

from synth.importers.attempt import count_labels, entry, in_order
from synth.importers.chats.columns import names_of
from synth.importers.chats.dialogue import dialogue
from synth.importers.chats.record import stated_end
from synth.importers.contexts.compaction import CONTINUED, in_places
from synth.importers.records import (
    UNEXPECTED,
    Entry,
    Format,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    explained,
    is_object,
    joined_record,
)
from synth.importers.streams.session_contexts import kept_branch, session_contexts
from synth.importers.verdicts import claimed


def recognises(value: Any) -> bool:
    """The first line of a session, or one of its messages."""
    if is_object(value, type=str, message=dict) and value["type"] == "message":
        return "role" in value["message"]
    return is_object(value, "harness", type=str) and value["type"] == "session"


def _sessions(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    lines: list[Record] = []
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        if is_object(record.value, type=str) and record.value["type"] == "session" and lines:
            yield from _session(lines, settings)
            lines = []
        lines.append(record)

    if lines:
        yield from _session(lines, settings)


def _session(lines: list[Record], settings: ImportSettings) -> Iterator[Entry]:
    """A trajectory for each context of a session; lines of other types say nothing of the
    conversation.
    """
    first = lines[0].value if isinstance(lines[0].value, dict) else {}
    whole = joined_record(lines, lines[0].locator, first)
    branch = kept_branch([line.value for line in lines])
    left = sum(is_object(line.value, message=dict) for line in lines)
    left -= sum(is_object(one, message=dict) for one in branch)
    if left:
        detail = f"{left} messages that the user went back on"
        yield whole.rejected("abandoned_branch", detail)
    parts = session_contexts(branch)
    for record, messages, continued in in_places(whole, parts):
        try:
            yield _context(record, messages, settings, continued=continued)
        except (ValueError, *UNEXPECTED) as error:
            yield record.rejected("bad_record", explained(error))


def _context(
    record: Record, messages: list[Object], settings: ImportSettings, *, continued: bool
) -> Entry:
    first = record.value
    conversation = dialogue(messages).conversation()
    models = (one.get("model") for one in messages if isinstance(one.get("model"), str))
    reward = first.get("reward") if isinstance(first.get("reward"), int | float) else None
    return entry(
        record,
        "sts",
        conversation,
        env=f"sts/{CONTINUED}" if continued else None,
        benchmark=first.get("benchmark") or None,
        split=first.get("split") or None,
        passed=claimed(first, first.get("success"), reward, settings),
        end=stated_end(first.get("outcome")),
        reward=reward,
        model=next(models, None),
        marks=count_labels(conversation),
        names=names_of(first),
    )


FORMAT = Format(recognises, lambda records, settings: in_order(_sessions(records, settings)))
