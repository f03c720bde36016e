"""A task's graph as the ledger holds it, and as what other programs read: networkx, GraphML, or
JSON.
"""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.ledger.tables.graph_rows import Edge, Node
from synth.ledger.views import LedgerConnection, connect
from synth.schemas import SPACING, ConfigError, ToolCall, ascii_json, printable
from synth.topology.graph import START, SUCCESS

if TYPE_CHECKING:
    import networkx

SAMPLED = 200
"""Nodes that betweenness is worked out from: the time grows with this times the edges."""
_CALLS = msgspec.json.Decoder(tuple[ToolCall, ...])
_OF_ONE = "WHERE task_id = ? AND population = ?"
_EXAMPLES = (
    f"SELECT node, content, tool_calls FROM nodes JOIN turns USING (trajectory_id, turn) {_OF_ONE}"
)


class GraphRows(msgspec.Struct, frozen=True):
    """One population's graph of a task.

    `said`: node -> what was done there, in the turn that stands for it. `others`: the task's other
    populations with their trials, where none was asked for by name.
    """

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    said: Mapping[str, str] = {}
    others: Sequence[tuple[str, int]] = ()


def graph_rows(ledger: StoredLedger, task: str, population: str | None = None) -> GraphRows:
    """Of a task named by the beginning of its id, and of the population with the most trials, or
    the one named.

    Raises `ConfigError` where there is none, or several tasks begin so.
    """
    sql = (
        "SELECT task_id, population, n FROM nodes WHERE node = 'START' AND starts_with(task_id, ?) "
        "ORDER BY n DESC, population"
    )

    with connect(ledger) as connection:
        found = connection.execute(sql, [task]).fetchall()
        tasks = sorted({task_id for task_id, _, _ in found})
        if len(tasks) != 1:
            problem = "has no graph; the stage `topology` makes them"
            if tasks:
                problem = f"is the beginning of {len(tasks)} tasks"

            raise ConfigError(
                f"{task!r} {problem}; list them with: synth sql RUN 'SELECT DISTINCT task_id FROM "
                "nodes'"
            )

        # the population with the most trials comes first, and is taken unless one is named
        trials = {name: n for _, name, n in found}
        chosen = next((name for name in trials if name.startswith(population or "")), None)
        if chosen is None:
            raise ConfigError(
                f"--population {population}: nobody of that id played {tasks[0]}; known: "
                f"{', '.join(trials)}"
            )

        rows = rows_of(connection, tasks[0], chosen)
        if population is not None:
            return rows

        others = [(name, n) for name, n in trials.items() if name != chosen]
        return msgspec.structs.replace(rows, others=others)


def rows_of(connection: LedgerConnection, task: str, population: str) -> GraphRows:
    """The rows of one graph, and what one of its trials did at each node.

    The populations of a task have graphs of their own, in the same tables.
    """
    which = [task, population]

    def rows(table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        sql = f"SELECT {', '.join(columns)} FROM {table} {_OF_ONE}"
        found = connection.execute(sql, which).fetchall()
        return [dict(zip(columns, row, strict=True)) for row in found]

    nodes = msgspec.convert(rows("nodes", Node.__struct_fields__), list[Node])
    edges = msgspec.convert(rows("edges", Edge.__struct_fields__), list[Edge])

    said = {}
    for node, content, calls in connection.execute(_EXAMPLES, which).fetchall():
        done = [f"{call.name} {call.arguments}" for call in _CALLS.decode(calls)]
        said[node] = "; ".join(filter(None, [*done, content]))

    return GraphRows(nodes, edges, said)


def networkx_of(rows: GraphRows) -> "networkx.DiGraph[Any]":
    """One population's graph: counts, tools, what was done at each node and where to read an
    example, and its place in the graph; loops stay. Raises `ValueError` where there are no nodes.
    """
    import networkx

    if not rows.nodes:
        raise ValueError("no nodes make no graph")

    first = rows.nodes[0]
    found = networkx.DiGraph(task_id=first.task_id, level=first.level, population=first.population)

    for node in rows.nodes:
        found.add_node(node.node, n=node.n, n_success=node.n_success, tools="+".join(node.tools))
        found.nodes[node.node]["said"] = rows.said.get(node.node, "")
        if node.trajectory_id is not None and node.turn is not None:
            found.nodes[node.node].update(trajectory_id=node.trajectory_id, turn=node.turn)

    for edge in rows.edges:
        found.add_edge(edge.source_node, edge.target_node, n=edge.n, n_success=edge.n_success)

    _place(found)
    return found


def _place(graph: "networkx.DiGraph[Any]") -> None:
    """Adds to each node what its place in the merged graph says.

    `loop`: whether it lies on a cycle. `between`: betweenness centrality, from 0 to 1; of more than
    `SAMPLED` nodes an estimate from so many. `to_success`: fewest edges to SUCCESS, absent where
    none lead there. `gate`: whether every way from START to SUCCESS leads through it (a dominator).

    These describe the merged graph: a way through it may be of no trial.
    """
    import networkx

    # two nodes lie on a common cycle if and only if their component is the same
    for nodes in networkx.strongly_connected_components(graph):
        for node in nodes:
            graph.nodes[node]["loop"] = len(nodes) > 1 or graph.has_edge(node, node)

    between = networkx.betweenness_centrality(graph, k=min(len(graph), SAMPLED), seed=0)
    networkx.set_node_attributes(graph, between, "between")
    if START not in graph or SUCCESS not in graph:
        return

    distances = networkx.single_target_shortest_path_length(graph, SUCCESS)
    networkx.set_node_attributes(graph, dict(distances), "to_success")

    # the dominators of SUCCESS are what its immediate ones lead to, one after the other
    dominators = networkx.DiGraph(networkx.immediate_dominators(graph, START).items())
    gates = networkx.descendants(dominators, SUCCESS) if SUCCESS in dominators else set()
    networkx.set_node_attributes(graph, {node: node in gates for node in graph}, "gate")


def graphml(rows: GraphRows) -> bytes:
    """As GraphML, for Gephi, yEd, Cytoscape or `networkx.read_graphml`; characters that XML cannot
    hold stand as escapes.
    """
    import networkx

    out = io.BytesIO()
    found = networkx_of(rows)
    nodes, edges = found.nodes(data=True), found.edges(data=True)

    for about in (found.graph, *(about for _, about in nodes), *(about for *_, about in edges)):
        for name, value in about.items():
            about[name] = printable(value, SPACING) if isinstance(value, str) else value

    # names may hold what XML cannot: they are what tools and models wrote
    found = networkx.relabel_nodes(found, printable)
    networkx.write_graphml_xml(found, out, encoding="utf-8")
    return out.getvalue()


def as_json(rows: GraphRows) -> bytes:
    """Nodes and edges as the ledger holds them, with what was done at each node; ASCII alone, so
    that a terminal acts on nothing in it.
    """
    nodes = [{**msgspec.to_builtins(node), "said": rows.said.get(node.node)} for node in rows.nodes]
    told = {"nodes": nodes, "edges": msgspec.to_builtins(rows.edges)}
    return ascii_json(msgspec.json.format(msgspec.json.encode(told), indent=1)).encode()
