"""Graphs: the trials of some tasks, each as one picture."""

from collections.abc import Sequence
from itertools import pairwise

from synth.ledger.ledger import StoredLedger
from synth.ledger.tables.graph_rows import Edge
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.graph.svg import picture
from synth.report.section import Section, shortened
from synth.report.templates import rendered
from synth.schemas import Potentials
from synth.topology.graph import START, SUCCESS
from synth.topology.stored_graph import rows_of

SHOWN = 12
GOAL = 300
_CHOSEN = f"""
SELECT task_id, population, n, n_success, goal FROM nodes LEFT JOIN tasks USING (task_id)
WHERE node = '{START}' AND n > 1
ORDER BY abs(0.5 - n_success / n), n DESC, task_id, population LIMIT {SHOWN}
"""
_LUCKY = """
SELECT trajectory_id FROM decisions JOIN trajectories USING (trajectory_id)
WHERE reason = 'lucky_unproven' AND task_id = ?
"""


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """The tasks that tell most: those solved nearest to half of the time, the first one open."""
    graphs = []

    with connect(ledger) as connection:
        for task, population, n, n_success, goal in connection.execute(_CHOSEN).fetchall():
            rows = rows_of(connection, task, population)
            unproven = [one for (one,) in connection.execute(_LUCKY, [task]).fetchall()]
            passes = read(connection, Potentials, ("potential",), subjects=unproven)
            lucky = _along([one.about.nodes for one in passes], rows.edges)
            said = {node: stand_ins.in_text(task, done) for node, done in rows.said.items()}
            graphs.append(
                {
                    "task": task[:8],
                    "goal": shortened(stand_ins.in_text(task, goal or ""), GOAL),
                    "solved": f"{n_success} of {n}",
                    "svg": picture(rows.nodes, rows.edges, said, lucky),
                }
            )

    return rendered("graphs.html", graphs=graphs, style=rendered("graph.css")) if graphs else None


def _along(passes: Sequence[Sequence[str]], edges: Sequence[Edge]) -> set[tuple[str, str]]:
    """The edges of a graph that some passes went along."""
    passed = {(edge.source_node, edge.target_node) for edge in edges if edge.n_success}
    paths = [[START, *nodes, SUCCESS] for nodes in passes]
    return {pair for path in paths for pair in pairwise(path) if pair in passed}


SECTION = Section("Graphs", render)
