"""Which lines of a Claude Code session the model saw together: conversations, the branch that was
kept, stretches between compactions.

Lines name their parent, but not as a chain: results of parallel calls hang on the line of their own
call. The kept branch is therefore the way from the last message to the root, with all lines of the
replies on it and all results of their calls.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import networkx as nx

from synth.importers.agents.claude_code_lines import Line, ThreadMessage
from synth.importers.agents.claude_code_stretches import segments
from synth.importers.records import Record, Rejection, joined_record


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
    tree = _tree([record.value for record in lines])
    names: Counter[str] = Counter()

    for members in nx.weakly_connected_components(tree):
        said = {
            index: message for index in sorted(members) if (message := lines[index].value.message)
        }
        if not said:
            continue

        root = min(members)  # parents come before their children
        first = lines[root].value
        alone = first.agent_id or first.uuid or lines[root].locator
        name = f"subagents/{alone}" if first.is_sidechain else "main"
        again = f".{names[name]}" if names[name] else ""
        names[name] += 1
        taken = _branch(tree, said)
        taken |= _boundaries(tree, [one.value for one in lines], members, taken)

        for top, count in _abandoned(tree, said, members - taken).items():
            detail = f"{count} messages that the user went back on"
            yield lines[top].rejected("abandoned_branch", detail)

        for number, stretch in enumerate(segments([lines[index] for index in sorted(taken)])):
            yield joined_record(stretch, f"{name}{again}/{number}", stretch)


def _tree(lines: Sequence[Line]) -> Any:
    """An edge to every line from the one that it follows: its parent, or where that is not in the
    file, the line before it of the same strand.

    A boundary without a parent follows what was compacted; any other line without one begins a
    conversation.
    """
    tree: Any = nx.DiGraph()
    places = {line.uuid: index for index, line in enumerate(lines) if line.uuid}
    last: dict[tuple[bool, str | None, str | None], int] = {}

    for index, line in enumerate(lines):
        tree.add_node(index)
        is_side = bool(line.is_sidechain)
        strand = (is_side, line.agent_id if is_side else None, line.stream)
        named = line.parent_uuid or line.logical_parent_uuid
        parent = places.get(named or "", index)

        # a sub-agent's lines may name a line of the main conversation, and are none of it
        if parent >= index or bool(lines[parent].is_sidechain) != is_side:
            follows = named is not None or line.is_boundary or not line.uuid
            parent = last.get(strand, index) if follows else index

        if parent < index:
            tree.add_edge(parent, index)

        last[strand] = index

    return tree


def _branch(tree: Any, said: Mapping[int, ThreadMessage]) -> set[int]:
    """The branch that ends in the last message, with what belongs to its replies."""
    end = max(said)
    taken: set[int] = {end, *nx.ancestors(tree, end)}

    # the lines of one reply, and the results of its calls, may hang on different lines of it
    replies = {said[index].id for index in taken & said.keys()} - {None}
    taken |= {index for index, message in said.items() if message.id in replies}
    calls = {name for index in taken & said.keys() for name in said[index].ids("tool_use", "id")}

    return taken | {
        index
        for index, message in said.items()
        if message.ids("tool_result", "tool_use_id") & calls
    }


def _boundaries(tree: Any, lines: Sequence[Line], members: set[int], taken: set[int]) -> set[int]:
    """Compactions that kept messages of the branch, with their summaries: what was said next hangs
    on those messages, and not on the summary.
    """
    names = {lines[index].uuid for index in taken}
    found: set[int] = set()
    for index in members - taken:
        if lines[index].is_boundary and names & set(lines[index].kept()):
            below = (at for at in nx.descendants(tree, index) if lines[at].is_compact_summary)
            found |= {index, *below}
    return found


def _abandoned(tree: Any, said: Mapping[int, ThreadMessage], left: set[int]) -> Counter[int]:
    """How many messages each branch has that was not kept, by the first of them."""
    tops: dict[int | None, int] = {}

    for index in sorted(left):
        above = tops.get(next(tree.predecessors(index), None))
        if index in said or above is not None:
            tops[index] = index if above is None else above

    return Counter(tops[index] for index in said if index in tops)
