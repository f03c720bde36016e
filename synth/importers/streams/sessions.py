"""Session traces (STS), as the Hub shows them: a line of type `session`, then one per message; a
file may hold several sessions. Of those that form a tree of entries with compactions (pi and its
kin) the branch that was kept is read, in the contexts that the model saw.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from synth.importers.attempt import count_labels, entry, in_order, stated_end
from synth.importers.chats.columns import names_of
from synth.importers.chats.dialogue import dialogue
from synth.importers.contexts.compaction import in_places
from synth.importers.records import (
    Entry,
    Format,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    each,
    in_runs,
    inside,
    is_object,
)
from synth.importers.verdicts import claimed

_SUMMARIES = ("compaction", "branch_summary")


def recognises(value: Any) -> bool:
    """The first line of a session, or one of its messages."""
    if is_object(value, type=str, message=dict) and value["type"] == "message":
        return "role" in value["message"]
    return is_object(value, "harness") and _begins(value)


def _begins(value: Any) -> bool:
    return bool(inside(value, "type") == "session")


def _sessions(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    for record in in_runs(records, _begins):
        if isinstance(record, Rejection):
            yield record
        else:
            yield from _session(record, settings)


def _session(record: Record, settings: ImportSettings) -> Iterator[Entry]:
    """A trajectory for each context of a session; lines of other types say nothing of the
    conversation.
    """
    lines = record.value
    whole = replace(record, value=lines[0] if isinstance(lines[0], dict) else {})
    branch = _kept_branch(lines)
    left = sum(is_object(line, message=dict) for line in lines)
    left -= sum(is_object(one, message=dict) for one in branch)
    if left:
        detail = f"{left} messages that the user went back on"
        yield whole.rejected("abandoned_branch", detail)
    for part, messages, continued in in_places(whole, _contexts(branch)):
        read = partial(_context, messages=messages, settings=settings, continued=continued)
        yield from each([part], read)


def _kept_branch(lines: Sequence[Any]) -> list[Object]:
    """The entries on the way to the last message; all of them, where they name no parents."""
    entries = [line for line in lines if isinstance(line, dict)]
    by_id = {one["id"]: one for one in entries if isinstance(one.get("id"), str)}
    last = next((one for one in reversed(entries) if is_object(one, message=dict)), None)
    if last is None or not any(one.get("parentId") in by_id for one in entries):
        return entries

    taken: set[str] = set()
    at: Any = last.get("id")
    while at in by_id and at not in taken:
        taken.add(at)
        at = by_id[at].get("parentId")
    return [one for one in entries if one.get("id") in taken or "parentId" not in one]


def _contexts(entries: Sequence[Object]) -> list[list[Object]]:
    """The messages of each context: behind a compaction its summary, the entries that it kept
    (whose answers carry no loss a second time), and what was said next.
    """
    found: list[list[Object]] = [[]]
    seen: list[Object] = []

    for one in entries:
        if one.get("type") == "compaction" and isinstance(one.get("summary"), str):
            names = [entry.get("id") for entry in seen]
            kept = one.get("firstKeptEntryId")
            first = names.index(kept) if kept in names else len(seen)
            again = [entry["message"] | {"training": False} for entry in seen[first:]]
            found.append([_summary(one), *again])
            seen = seen[first:]
        elif one.get("type") in _SUMMARIES and isinstance(one.get("summary"), str):
            found[-1].append(_summary(one))
        elif is_object(one, message=dict):
            found[-1].append(one["message"])
            seen.append(one)

    return [one for one in found[:-1] if _is_new(one)] + found[-1:]


def _summary(entry: Object) -> Object:
    return {"role": "environment", "content": entry["summary"]}


def _is_new(messages: Sequence[Object]) -> bool:
    return any(
        one.get("role") == "assistant" and one.get("training") is not False for one in messages
    )


def _context(
    record: Record, *, messages: list[Object], settings: ImportSettings, continued: bool
) -> Entry:
    first = record.value
    conversation = dialogue(messages).conversation()
    models = (one.get("model") for one in messages if isinstance(one.get("model"), str))
    reward = first.get("reward") if isinstance(first.get("reward"), int | float) else None
    return entry(
        record,
        "sts",
        conversation,
        continued=continued,
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
