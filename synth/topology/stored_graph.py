"""The rows of one graph, as the ledger holds them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Ledger
from synth.ledger.tables.graph_rows import Edge, Node
from synth.ledger.views import LedgerConnection, connect
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import ToolCall

_CALLS = msgspec.json.Decoder(tuple[ToolCall, ...])
_NODES = (
    f"SELECT {', '.join(Node.__struct_fields__)} FROM nodes WHERE task_id = ? AND population = ?"
)
_EDGES = (
    f"SELECT {', '.join(Edge.__struct_fields__)} FROM edges WHERE task_id = ? AND population = ?"
)
_EXAMPLES = """
SELECT n.node, t.content, t.tool_calls FROM nodes AS n JOIN turns AS t ON t.trajectory_id = n.trajectory_id AND t.turn = n.turn
WHERE n.task_id = ? AND n.population = ?
"""


class GraphRows(msgspec.Struct, frozen=True):
    """One population's graph of a task; `said` is what was done at a node, `others` the task's
    other populations with their trials.
    """

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    said: dict[str, str]
    others: Sequence[tuple[str, int]] = ()


def graph_rows(ledger: Ledger, task: str, population: str | None = None) -> GraphRows:
    """Of a task named by the beginning of its id, and of the population with the most trials, or
    the one named.

    Raises `ConfigError` where there is none, or several tasks begin so.
    """
    with connect(ledger) as connection:
        sql = (
            "SELECT task_id, population, n FROM nodes WHERE node = 'START' AND "
            "starts_with(task_id, ?) ORDER BY n DESC, population"
        )
        found = connection.execute(sql, [task]).fetchall()
        tasks = sorted({task_id for task_id, _, _ in found})
        if len(tasks) != 1:
            problem = (
                "has no graph; the stage `topology` makes them"
                if not tasks
                else f"is the beginning of {len(tasks)} tasks"
            )
            raise ConfigError(
                f"{task!r} {problem}; list them with: synth sql RUN 'SELECT DISTINCT task_id FROM "
                "nodes'"
            )
        known = [(name, trials) for _, name, trials in found]
        chosen = next(
            (name for name, _ in known if population is None or name.startswith(population)), None
        )
        if chosen is None:
            raise ConfigError(
                f"--population {population}: nobody of that id played {tasks[0]}; known: "
                f"{', '.join(name for name, _ in known)}"
            )
        others = [one for one in known if one[0] != chosen] if population is None else []
        return msgspec.structs.replace(rows_of(connection, tasks[0], chosen), others=others)


def rows_of(connection: LedgerConnection, task: str, population: str) -> GraphRows:
    """The rows of one graph, and what one of its trials did at each node."""
    which = [task, population]
    nodes = [_node(row) for row in connection.execute(_NODES, which).fetchall()]
    edges = [Edge(*row) for row in connection.execute(_EDGES, which).fetchall()]
    return GraphRows(nodes, edges, _said(connection.execute(_EXAMPLES, which).fetchall()))


def _node(row: tuple[Any, ...]) -> Node:
    return msgspec.convert(dict(zip(Node.__struct_fields__, row, strict=True)), Node)


def _said(rows: Sequence[tuple[str, str | None, str]]) -> dict[str, str]:
    found = {}
    for node, content, calls in rows:
        done = [f"{call.name} {call.arguments}" for call in _CALLS.decode(calls)]
        found[node] = "; ".join([*done, *([content] if content else [])])
    return found
