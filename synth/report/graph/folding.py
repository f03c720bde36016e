"""A task's graph made small enough to be looked at: what always comes together is one box, detours
of single trials are bundled.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import networkx as nx

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

    # how many ways lead to a turn and away from it
    graph: Any = nx.DiGraph([(edge.source_node, edge.target_node) for edge in edges])
    follows = {
        one: other for one, other in graph.edges if _in_one(by_name[one], by_name[other], graph)
    }
    boxes = list(_chains(by_name, follows))
    home = {member.node: box.name for box in boxes for member in box.members}

    # a ring of turns that nothing leads into is in no box
    arrows = [
        Arrow(home[edge.source_node], home[edge.target_node], edge.n, edge.n_success)
        for edge in edges
        if {edge.source_node, edge.target_node} <= set(home)
        and follows.get(edge.source_node) != edge.target_node
    ]

    # a picture of fewer boxes can be looked at as it is
    return _bundled(boxes, arrows) if len(boxes) > most else (boxes, arrows)


def _chains(by_name: Mapping[str, Node], follows: Mapping[str, str]) -> Iterator[Box]:
    """A box for each turn that does not always follow another, with those that do behind it."""
    for name, node in by_name.items():
        if name in follows.values():
            continue

        box = Box(name, [node], node.n, node.n_success)
        while (last := box.members[-1].node) in follows:
            box.members.append(by_name[follows[last]])

        yield box


def _in_one(one: Node, other: Node, graph: Any) -> bool:
    """Whether the second always and only follows the first."""
    # nothing else leads in or out, and no trial is lost on the way
    alone = graph.out_degree(one.node) == graph.in_degree(other.node) == 1
    inner = one.node != other.node and not {one.node, other.node} & set(ENDS)

    return alone and inner and (one.n, one.n_success) == (other.n, other.n_success)


def _detours(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> dict[tuple[str, str], list[Box]]:
    """Boxes that one trial came through alone, by the boxes before and behind them."""
    graph: Any = nx.MultiDiGraph([(arrow.source, arrow.target) for arrow in arrows])
    groups: dict[tuple[str, str], list[Box]] = {}

    for box in boxes:
        inner = box.n == 1 and box.name not in ENDS and box.name in graph

        if inner and graph.in_degree(box.name) == graph.out_degree(box.name) == 1:
            (source,), (target,) = graph.predecessors(box.name), graph.successors(box.name)
            groups.setdefault((source, target), []).append(box)

    return groups


def _bundled(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> tuple[list[Box], list[Arrow]]:
    """Ways that one trial took alone, between the same two boxes and to the same end, as one
    box.
    """
    # one detour alone stays a box of its own
    bundles = {ends: found for ends, found in _detours(boxes, arrows).items() if len(found) > 1}

    gone = {box.name for found in bundles.values() for box in found}
    kept = [box for box in boxes if box.name not in gone]
    lines = [arrow for arrow in arrows if not {arrow.source, arrow.target} & gone]

    for (source, target), found in bundles.items():
        # the bundle goes by the name of its first box
        name, n, n_success = found[0].name, len(found), sum(box.n_success for box in found)
        members = [member for box in found for member in box.members]
        kept.append(Box(name, members, n, n_success, bundled=n))

        # as many trials lead in as out
        lines += [Arrow(source, name, n, n_success), Arrow(name, target, n, n_success)]

    return kept, lines
