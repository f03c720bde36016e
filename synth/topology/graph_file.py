"""A task's graph from its rows in the ledger, as what other programs read: GraphML, or JSON."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.ledger.tables.graph_rows import Edge, Node
from synth.schemas.printable import SPACING, ascii_json, printable
from synth.topology.graph import Count, TaskGraph, as_networkx


def networkx_of(nodes: Sequence[Node], edges: Sequence[Edge], said: Mapping[str, str]) -> Any:
    """A `networkx.DiGraph` of one population's rows: counts, tools, and where to read an example of
    each node; loops stay.

    `said` gives what was done at a node. Raises `ValueError` where there are no nodes.
    """
    if not nodes:
        raise ValueError("no nodes make no graph")
    first = nodes[0]
    counts = {node.node: Count(node.n, node.n_success) for node in nodes}
    ways = {(edge.source_node, edge.target_node): Count(edge.n, edge.n_success) for edge in edges}
    found = as_networkx(TaskGraph(first.task_id, first.level, (), counts, ways))  # type: ignore[arg-type]
    found.graph["population"] = first.population
    for node in nodes:
        about = {"tools": "+".join(node.tools), "said": said.get(node.node, "")}
        example = (
            {}
            if node.trajectory_id is None or node.turn is None
            else {"trajectory_id": node.trajectory_id, "turn": node.turn}
        )
        found.nodes[node.node].update({**about, **example})
    return found


def graphml(nodes: Sequence[Node], edges: Sequence[Edge], said: Mapping[str, str]) -> bytes:
    """As GraphML, for Gephi, yEd, Cytoscape or `networkx.read_graphml`; characters that XML cannot
    hold stand as escapes.
    """
    import networkx

    out = io.BytesIO()
    found = networkx_of(nodes, edges, said)
    attributes = [
        found.graph,
        *(about for _, about in found.nodes(data=True)),
        *(about for *_, about in found.edges(data=True)),
    ]
    for about in attributes:
        about |= {
            name: printable(value, SPACING)
            for name, value in about.items()
            if isinstance(value, str)
        }
    found = networkx.relabel_nodes(found, printable)
    networkx.write_graphml_xml(found, out, encoding="utf-8")
    return out.getvalue()


def as_json(nodes: Sequence[Node], edges: Sequence[Edge], said: Mapping[str, str]) -> bytes:
    """Nodes and edges as the ledger holds them, with what was done at each node."""
    told = [{**msgspec.to_builtins(node), "said": said.get(node.node)} for node in nodes]
    whole = msgspec.json.format(
        msgspec.json.encode({"nodes": told, "edges": msgspec.to_builtins(edges)}), indent=1
    )
    return ascii_json(whole).encode()
