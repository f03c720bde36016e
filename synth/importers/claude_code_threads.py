"""Which lines of a Claude Code session the model saw together: threads, the branch that was kept,
stretches between compactions.

Lines name their parent, but not as a chain: results of parallel calls hang on the line of their own
call. The kept branch is therefore the way from the last message to the root, with all lines of the
replies on it and all results of their calls.
"""

from collections.abc import Iterator, Sequence

import msgspec

from synth.importers.claude_code_lines import Line, blocks
from synth.importers.records import Rejection


class Thread(msgspec.Struct):
    """A conversation, in the order of the file, without what was abandoned or stands twice."""

    name: str
    is_sidechain: bool
    lines: list[Line]
    rejections: list[Rejection]


def threads(lines: Sequence[Line]) -> Iterator[Thread]:
    """Every conversation of a file: the main ones as `main`, `main.1` ..., sub-agents as
    `subagents/<id>`.
    """
    kept, repeated = _once(lines)
    parents = _parents(kept)
    roots: list[int] = []
    trees: dict[int, list[int]] = {}
    for index, parent in enumerate(parents):  # parents come before their children
        roots.append(index if parent is None else roots[parent])
        trees.setdefault(roots[index], []).append(index)
    names: dict[str, int] = {}
    for root, members in trees.items():
        if not any(kept[i].message is not None for i in members):
            continue
        first = kept[root]
        name = (
            f"subagents/{first.agent_id or first.uuid or first.record.locator}"
            if first.is_sidechain
            else "main"
        )
        names[name] = names.get(name, 0) + 1
        branch, abandoned = _branch(members, kept, parents)
        unique = name if names[name] == 1 else f"{name}.{names[name] - 1}"
        yield Thread(unique, first.is_sidechain, branch, [*repeated, *abandoned])
        repeated = []


def segments(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Stretches of messages between compactions; the summary opens its stretch."""
    stretch: list[Line] = []
    for line in lines:
        if stretch and (
            line.is_boundary
            or (line.is_summary and any(one.type == "assistant" for one in stretch))
        ):
            yield stretch
            stretch = []
        if line.message is not None:
            stretch.append(line)
    if stretch:
        yield stretch


def _once(lines: Sequence[Line]) -> tuple[list[Line], list[Rejection]]:
    """Lines without those that stand in the file a second time (resumed sessions copy them)."""
    seen: set[str] = set()
    kept: list[Line] = []
    repeated: list[Rejection] = []
    for line in lines:
        if line.uuid is not None and line.uuid in seen:
            if line.message is not None:
                repeated.append(
                    line.record.rejected(
                        "repeated_line", f"uuid {line.uuid} stands in the file before"
                    )
                )
            continue
        if line.uuid is not None:
            seen.add(line.uuid)
        kept.append(line)
    return kept, repeated


def _parents(lines: Sequence[Line]) -> list[int | None]:
    """For every line the one that it follows: its parent, or where that is not in the file, the
    line before it of the same kind.

    A boundary without a parent follows what was compacted; any other line without one begins a
    conversation.
    """
    places = {line.uuid: index for index, line in enumerate(lines) if line.uuid is not None}
    last: dict[tuple[bool, str | None], int] = {}
    parents: list[int | None] = []
    for index, line in enumerate(lines):
        kind = (line.is_sidechain, line.agent_id if line.is_sidechain else None)
        place = places.get(line.parent) if line.parent is not None else None
        if place is not None and place < index and lines[place].is_sidechain == line.is_sidechain:
            parents.append(place)
        elif line.parent is not None or line.is_boundary or line.uuid is None:
            parents.append(last.get(kind))
        else:
            parents.append(None)
        last[kind] = index
    return parents


def _branch(
    members: Sequence[int], lines: Sequence[Line], parents: Sequence[int | None]
) -> tuple[list[Line], list[Rejection]]:
    """The branch that ends in the last message, and one rejection for every other branch."""
    at: int | None = max(index for index in members if lines[index].message is not None)
    taken: set[int] = set()
    while at is not None:
        taken.add(at)
        at = parents[at]
    replies = {
        message.id
        for i in taken
        if (message := lines[i].message) is not None and message.id is not None
    }
    taken |= {
        i for i in members if (message := lines[i].message) is not None and message.id in replies
    }
    calls = {block.get("id") for i in taken for block in blocks(lines[i], "tool_use")}
    taken |= {
        i
        for i in members
        if any(block.get("tool_use_id") in calls for block in blocks(lines[i], "tool_result"))
    }
    tops: dict[int | None, int] = {}
    sizes: dict[int, int] = {}
    for index in members:
        if index not in taken and lines[index].message is not None:
            tops[index] = tops.get(parents[index], index)
            sizes[tops[index]] = sizes.get(tops[index], 0) + 1
        elif index not in taken and parents[index] in tops:
            tops[index] = tops[parents[index]]
    rejections = [
        lines[top].record.rejected(
            "abandoned_branch", f"{count} messages that the user went back on"
        )
        for top, count in sizes.items()
    ]
    return [lines[i] for i in members if i in taken], rejections
