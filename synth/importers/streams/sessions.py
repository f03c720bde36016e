"""Session traces (STS), as the Hub shows them: a line of type `session`, then one per message; a
file may hold several sessions.
"""

from collections.abc import Iterator
from typing import Any

from synth.importers.attempt import count_labels, entry, in_order
from synth.importers.chats.columns import names_of
from synth.importers.chats.dialogue import dialogue
from synth.importers.records import (
    UNEXPECTED,
    Entry,
    Format,
    ImportSettings,
    Record,
    Records,
    Rejection,
    explained,
    is_object,
    joined_record,
)


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
            yield _session(lines, settings)
            lines = []
        lines.append(record)

    if lines:
        yield _session(lines, settings)


def _session(lines: list[Record], settings: ImportSettings) -> Entry:
    """The trajectory of a session's lines; lines of other types say nothing of the conversation."""
    first = lines[0].value if isinstance(lines[0].value, dict) else {}
    told = [line.value for line in lines if is_object(line.value, message=dict)]
    messages = [one["message"] for one in told]
    whole = joined_record(lines, lines[0].locator, first)
    models = (one.get("model") for one in messages if isinstance(one.get("model"), str))

    try:
        conversation = dialogue(messages).conversation()
        reward = first.get("reward") if isinstance(first.get("reward"), int | float) else None
        return entry(
            whole,
            "sts",
            conversation,
            benchmark=first.get("benchmark") or None,
            split=first.get("split") or None,
            passed=settings.passed(reward),
            reward=reward,
            model=next(models, None),
            marks=count_labels(conversation),
            names=names_of(first),
        )
    except (ValueError, *UNEXPECTED) as error:
        return whole.rejected("bad_record", explained(error))


FORMAT = Format(recognises, lambda records, settings: in_order(_sessions(records, settings)))
