"""Which lines of a Claude Code session the model saw together: conversations, the branch that was
kept, stretches between compactions.

Lines name their parent, but not as a chain: results of parallel calls hang on the line of their own
call. The kept branch is therefore the way from the last message to the root, with all lines of the
replies on it and all results of their calls.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.importers.records import Record, Rejection, inside, joined_record


class Message(msgspec.Struct):
    """What a line says; the lines of one reply have one `id`."""

    content: Any = None
    role: str | None = None
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None

    def ids(self, kind: str, key: str) -> set[Any]:
        """The ids that its blocks of a kind have."""
        parts = inside(self.content, kind=list) or ()
        return {part[key] for part in parts if inside(part, "type") == kind and key in part}


class Line(msgspec.Struct, rename="camel"):
    """One line that has a place in the conversation; `message` is None for those that only link
    others.
    """

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    message: Message | None = None

    @property
    def is_boundary(self) -> bool:
        """Whether the context was compacted here."""
        return self.type == "system" and self.subtype == "compact_boundary"

    @property
    def strand(self) -> tuple[bool, str | None]:
        """The main conversation, or which sub-agent's."""
        return (True, self.agent_id) if self.is_sidechain else (False, None)


def stretches(records: Sequence[Record]) -> Iterator[Record | Rejection]:
    """Every stretch of messages of every conversation in a file, as a record of the records of its
    lines: `main/0`, `main/1`, of a second conversation `main.1/0`, of sub-agents
    `subagents/<id>/0`. What was abandoned or stands twice is a rejection.
    """
    kept: dict[str, Record] = {}
    for record in records:
        line = record.value
        if kept.setdefault(line.uuid or record.locator, record) is not record and line.message:
            # resumed sessions copy lines
            detail = f"uuid {line.uuid} stands in the file before"
            yield record.rejected("repeated_line", detail)
    lines = list(kept.values())
    parents = _parents([record.value for record in lines])
    roots: list[int] = []
    trees: dict[int, list[int]] = {}
    for index, parent in enumerate(parents):  # parents come before their children
        roots.append(index if parent is None else roots[parent])
        trees.setdefault(roots[index], []).append(index)
    names: Counter[str] = Counter()
    for root, members in trees.items():
        if not any(lines[index].value.message for index in members):
            continue
        first = lines[root].value
        alone = first.agent_id or first.uuid or lines[root].locator
        name = f"subagents/{alone}" if first.is_sidechain else "main"
        again = f".{names[name]}" if names[name] else ""
        names[name] += 1
        taken, abandoned = _branch(members, lines, parents)
        yield from abandoned
        for number, stretch in enumerate(_segments([lines[index] for index in taken])):
            yield joined_record(stretch, f"{name}{again}/{number}", stretch)


def _parents(lines: Sequence[Line]) -> list[int | None]:
    """For every line the one that it follows: its parent, or where that is not in the file, the
    line before it of the same strand.

    A boundary without a parent follows what was compacted; any other line without one begins a
    conversation.
    """
    places = {line.uuid: index for index, line in enumerate(lines) if line.uuid}
    last: dict[tuple[bool, str | None], int] = {}
    parents: list[int | None] = []
    for index, line in enumerate(lines):
        named = line.parent_uuid or line.logical_parent_uuid
        place = places.get(named, index) if named else index
        if place < index and lines[place].strand[0] == line.strand[0]:
            parents.append(place)
        else:
            begins = named is None and line.uuid and not line.is_boundary
            parents.append(None if begins else last.get(line.strand))
        last[line.strand] = index
    return parents


def _branch(
    members: Sequence[int], lines: Sequence[Record], parents: Sequence[int | None]
) -> tuple[list[int], list[Rejection]]:
    """The branch that ends in the last message, and one rejection for every other branch."""
    said = {index: message for index in members if (message := lines[index].value.message)}
    at: int | None = max(said)
    taken: set[int] = set()
    while at is not None:
        taken.add(at)
        at = parents[at]
    replies = {said[index].id for index in taken & said.keys()} - {None}
    taken |= {index for index, message in said.items() if message.id in replies}
    calls = {name for index in taken & said.keys() for name in said[index].ids("tool_use", "id")}
    answers = {index: message.ids("tool_result", "tool_use_id") for index, message in said.items()}
    taken |= {index for index, names in answers.items() if names & calls}
    tops: dict[int | None, int] = {}
    for index in members:
        above = tops.get(parents[index])
        if index not in taken and (index in said or above is not None):
            tops[index] = index if above is None else above
    sizes = Counter(top for index, top in tops.items() if index in said)
    return sorted(taken), [
        lines[top].rejected("abandoned_branch", f"{count} messages that the user went back on")
        for top, count in sizes.items()
    ]


def _segments(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Stretches of messages between compactions; the summary opens its stretch."""
    stretch: list[Record] = []
    for record in records:
        line = record.value
        answered = line.is_compact_summary and any(one.value.type == "assistant" for one in stretch)
        if stretch and (line.is_boundary or answered):
            yield stretch
            stretch = []
        if line.message:
            stretch.append(record)
    if stretch:
        yield stretch
