"""Graphs: the trials of some tasks, each as one picture."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from schemas.trajectory import ToolCall
from synth.ledger.graph_rows import Edge, Node
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.report.graph_svg import STYLE, picture
from synth.report.html import escape
from synth.report.section import Section
from synth.topology.graph import START, SUCCESS

SHOWN = 12
_CALLS = msgspec.json.Decoder(tuple[ToolCall, ...])
_CHOSEN = """
SELECT task_id, population, n, n_success FROM nodes WHERE node = 'START' AND n > 1
ORDER BY abs(0.5 - n_success / n), n DESC, task_id, population LIMIT ?
"""
_GOAL = 300


def render(ledger: Ledger) -> str | None:
    """The tasks that tell most: those solved nearest to half of the time, the first one open."""
    with connect(ledger) as connection:
        chosen = connection.execute(_CHOSEN, [SHOWN]).fetchall()
        if not chosen:
            return None
        goals = dict(connection.execute("SELECT task_id, goal FROM tasks").fetchall())
        lucky = connection.execute(_LUCKY).fetchall()
        parts = [_LEGEND]
        for at, (task, population, n, n_success) in enumerate(chosen):
            which = [task, population]
            nodes = [_node(row) for row in connection.execute(_NODES, which).fetchall()]
            edges = [Edge(*row) for row in connection.execute(_EDGES, which).fetchall()]
            said = _said(connection.execute(_EXAMPLES, which).fetchall())
            svg = picture(nodes, edges, said, _edges(lucky, nodes))
            parts.append(_details(task, goals.get(task), n, n_success, svg, opened=not at))
    return "".join(parts)


def _node(row: tuple[Any, ...]) -> Node:
    return msgspec.convert(dict(zip(Node.__struct_fields__, row, strict=True)), Node)


_NODES = f"SELECT {', '.join(Node.__struct_fields__)} FROM nodes WHERE task_id = ? AND population = ?"
_EDGES = f"SELECT {', '.join(Edge.__struct_fields__)} FROM edges WHERE task_id = ? AND population = ?"
_LUCKY = """
SELECT s.detail FROM scores AS s JOIN decisions AS d ON d.trajectory_id = s.subject_id
WHERE s.metric = 'potential' AND d.reason = 'lucky_unproven'
"""
_EXAMPLES = """
SELECT n.node, t.content, t.tool_calls FROM nodes AS n JOIN turns AS t ON t.trajectory_id = n.trajectory_id AND t.turn = n.turn
WHERE n.task_id = ? AND n.population = ?
"""


def _said(rows: Sequence[tuple[str, str | None, str]]) -> dict[str, str]:
    """What was done at a node, by one of its trials."""
    found = {}
    for node, content, calls in rows:
        done = [f"{call.name} {call.arguments}" for call in _CALLS.decode(calls)]
        found[node] = "; ".join([*done, *([content] if content else [])])
    return found


def _edges(details: Sequence[tuple[str]], nodes: Sequence[Node]) -> set[tuple[str, str]]:
    """The edges of some trials that lie in this graph."""
    inside = {node.node for node in nodes}
    found: set[tuple[str, str]] = set()
    for (detail,) in details:
        path = [START, *msgspec.json.decode(detail)["nodes"], SUCCESS]
        found |= {(one, other) for one, other in pairwise(path) if one in inside and other in inside}
    return found


def _details(task: str, goal: str | None, n: int, n_success: int, svg: str, *, opened: bool) -> str:
    text = " ".join((goal or "").split())
    goal_line = f'<p class="quiet">{escape(text if len(text) <= _GOAL else text[:_GOAL] + "…")}</p>' if text else ""
    summary = f"<summary>{escape(task[:8])}: {n_success} of {n} trials solved it</summary>"
    region = f'<div class="scroll" tabindex="0" role="group" aria-label="Graph of task {escape(task[:8])}">{svg}</div>'
    return f"<details{' open' if opened else ''}>{summary}{goal_line}{region}</details>"


def _swatches(*shades: str) -> str:
    boxes = "".join(f'<rect x="{at * 18}" y="0" width="18" height="12" fill="var({shade})"/>' for at, shade in enumerate(shades))
    return f'<svg width="{len(shades) * 18}" height="12" aria-hidden="true">{boxes}</svg>'


_LEGEND = (
    f"<style>{STYLE}</style><p>Each box is a turn, or several that always came together; what it did stands in its tooltip. Arrows go from "
    "turn to turn, from the start on the left to the end on the right.</p>"
    '<p class="scale"><span>solved less often '
    + _swatches("--d4", "--d3", "--d2", "--d1", "--mid", "--u1", "--u2", "--u3", "--u4")
    + " more often than the task</span><span>wider: more trials</span><span>green and red: into the end</span>"
    "<span>dashed: a way back (loop)</span><span>dotted: a pass without second evidence</span></p>"
)

SECTION = Section("Graphs", render)
