"""Sessions that form a tree of entries with compactions (pi and its kin): the branch that was kept,
in the contexts that the model saw.
"""

from collections.abc import Sequence
from typing import Any

from synth.importers.records import Object, is_object

_SUMMARIES = ("compaction", "branch_summary")


def kept_branch(lines: Sequence[Any]) -> list[Object]:
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


def session_contexts(entries: Sequence[Object]) -> list[list[Object]]:
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
