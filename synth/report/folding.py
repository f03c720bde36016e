"""A task's graph made small enough to be looked at: what always comes together is one box, detours
of single trials are bundled.
"""

from collections.abc import Mapping, Sequence

import msgspec

from synth.ledger.tables.graph_rows import Edge, Node
from synth.topology.graph import FAILURE, START, SUCCESS

ENDS = (START, SUCCESS, FAILURE)


class Box(msgspec.Struct):
    """Turns that are drawn as one: a chain in its order, or a bundle of single trials' ways between
    the same two boxes.
    """

    name: str
    members: list[Node]
    n: int
    n_success: int
    bundled: int = 0


class Arrow(msgspec.Struct):
    """What leads from box to box, by trials."""

    source: str
    target: str
    n: int
    n_success: int


def folded(
    nodes: Sequence[Node], edges: Sequence[Edge], most: int = 60
) -> tuple[list[Box], list[Arrow]]:
    """Boxes and arrows of one graph; detours are bundled only where there are more than `most`
    boxes.
    """
    by_name = {node.node: node for node in nodes}
    after: dict[str, list[Edge]] = {name: [] for name in by_name}
    before: dict[str, list[Edge]] = {name: [] for name in by_name}
    for edge in edges:
        after[edge.source_node].append(edge)
        before[edge.target_node].append(edge)
    follows = {
        name: found[0].target_node
        for name, found in after.items()
        if len(found) == 1 and _chains(by_name[name], by_name[found[0].target_node], before)
    }
    heads = set(by_name) - set(follows.values())
    boxes, home = [], dict[str, str]()
    for name in [node.node for node in nodes if node.node in heads]:
        members = [by_name[name]]
        while members[-1].node in follows and follows[members[-1].node] != name:
            members.append(by_name[follows[members[-1].node]])
        boxes.append(Box(name, members, members[0].n, members[0].n_success))
        home |= {member.node: name for member in members}
    arrows = [
        Arrow(home[edge.source_node], home[edge.target_node], edge.n, edge.n_success)
        for edge in edges
        if edge.source_node in home
        and edge.target_node in home
        and follows.get(edge.source_node) != edge.target_node
    ]
    return _bundled(boxes, arrows) if len(boxes) > most else (boxes, arrows)


def _chains(one: Node, other: Node, before: Mapping[str, Sequence[Edge]]) -> bool:
    """Whether the second always and only follows the first."""
    inner = one.node not in ENDS and other.node not in ENDS and one.node != other.node
    return (
        inner
        and len(before[other.node]) == 1
        and (one.n, one.n_success) == (other.n, other.n_success)
    )


def _bundled(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> tuple[list[Box], list[Arrow]]:
    """Ways that one trial took alone, between the same two boxes and to the same end, as one
    box.
    """
    into: dict[str, list[Arrow]] = {}
    out: dict[str, list[Arrow]] = {}
    for arrow in arrows:
        into.setdefault(arrow.target, []).append(arrow)
        out.setdefault(arrow.source, []).append(arrow)
    groups: dict[tuple[str, str], list[Box]] = {}
    for box in boxes:
        if (
            box.n == 1
            and box.name not in ENDS
            and len(into.get(box.name, ())) == 1
            and len(out.get(box.name, ())) == 1
        ):
            groups.setdefault((into[box.name][0].source, out[box.name][0].target), []).append(box)
    gone = {box.name for found in groups.values() if len(found) > 1 for box in found}
    kept = [box for box in boxes if box.name not in gone]
    lines = [arrow for arrow in arrows if arrow.source not in gone and arrow.target not in gone]
    for (source, target), found in groups.items():
        if len(found) > 1:
            name, n, n_success = found[0].name, len(found), sum(box.n_success for box in found)
            kept.append(
                Box(
                    name,
                    [member for box in found for member in box.members],
                    n,
                    n_success,
                    len(found),
                )
            )
            lines += [Arrow(source, name, n, n_success), Arrow(name, target, n, n_success)]
    return kept, lines
