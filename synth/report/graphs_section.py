"""Graphs: the trials of some tasks, each as one picture."""

from collections.abc import Sequence
from itertools import pairwise

from synth.ledger.ledger import Ledger
from synth.ledger.tables.graph_rows import Edge
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.graph_svg import STYLE, picture
from synth.report.section import Section
from synth.schemas.measures import Potentials
from synth.schemas.printable import in_html
from synth.topology.graph import START, SUCCESS
from synth.topology.stored_graph import rows_of

SHOWN = 12
_CHOSEN = """
SELECT task_id, population, n, n_success FROM nodes WHERE node = 'START' AND n > 1
ORDER BY abs(0.5 - n_success / n), n DESC, task_id, population LIMIT ?
"""
_GOAL = 300


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """The tasks that tell most: those solved nearest to half of the time, the first one open."""
    with connect(ledger) as connection:
        chosen = connection.execute(_CHOSEN, [SHOWN]).fetchall()
        if not chosen:
            return None
        goals = dict(connection.execute("SELECT task_id, goal FROM tasks").fetchall())
        parts = [_LEGEND]
        for at, (task, population, n, n_success) in enumerate(chosen):
            rows = rows_of(connection, task, population)
            unproven = [one for (one,) in connection.execute(_LUCKY, [task]).fetchall()]
            passes = read(connection, Potentials, ("potential",), subjects=unproven)
            lucky = _along([one.about.nodes for one in passes], rows.edges)
            said = {node: stand_ins.in_text(task, done) for node, done in rows.said.items()}
            svg = picture(rows.nodes, rows.edges, said, lucky)
            parts.append(
                _details(
                    task,
                    stand_ins.in_text(task, goals.get(task) or ""),
                    n,
                    n_success,
                    svg,
                    opened=not at,
                )
            )
    return "".join(parts)


_LUCKY = """
SELECT trajectory_id FROM decisions JOIN trajectories USING (trajectory_id)
WHERE reason = 'lucky_unproven' AND task_id = ?
"""


def _along(passes: Sequence[Sequence[str]], edges: Sequence[Edge]) -> set[tuple[str, str]]:
    """The edges of a graph that some passes went along."""
    passed = {(edge.source_node, edge.target_node) for edge in edges if edge.n_success}
    paths = [[START, *nodes, SUCCESS] for nodes in passes]
    return {pair for path in paths for pair in pairwise(path) if pair in passed}


def _details(task: str, goal: str, n: int, n_success: int, svg: str, *, opened: bool) -> str:
    text = " ".join(goal.split())
    goal_line = (
        f'<p class="quiet">{in_html(text if len(text) <= _GOAL else text[:_GOAL] + "…")}</p>'
        if text
        else ""
    )
    summary = f"<summary>{in_html(task[:8])}: {n_success} of {n} trials solved it</summary>"
    region = (
        '<div class="scroll" tabindex="0" role="group" aria-label="Graph of task '
        f'{in_html(task[:8])}">{svg}</div>'
    )
    return f"<details{' open' if opened else ''}>{summary}{goal_line}{region}</details>"


def _swatches(*shades: str) -> str:
    boxes = "".join(
        f'<rect x="{at * 18}" y="0" width="18" height="12" fill="var({shade})"/>'
        for at, shade in enumerate(shades)
    )
    return f'<svg width="{len(shades) * 18}" height="12" aria-hidden="true">{boxes}</svg>'


def _line(kind: str, width: float = 3) -> str:
    return (
        f'<svg class="key" width="34" height="12" aria-hidden="true"><path class="{kind}" '
        f'd="M0 6H34" stroke-width="{width:g}"/></svg>'
    )


_LEGEND = (
    f"<style>{STYLE}</style><p>Each box is a turn, or several that always came together (+2: two "
    "more); what it did stands in its tooltip. "
    "The way leads from the start at the top to the ends at the bottom; tooltips of lines say how "
    "many trials went along.</p>"
    '<p class="scale"><span>solved less often '
    + _swatches("--d4", "--d3", "--d2", "--d1", "--mid", "--u1", "--u2", "--u3", "--u4")
    + " more often than the task</span>"
    + "".join(
        f"<span>{_line(kind, width)} {words}</span>"
        for kind, width, words in (
            ("", 1.5, "few trials"),
            ("", 7, "many"),
            ("good", 3, "into a pass"),
            ("bad", 3, "into a failure"),
            ("loop", 3, "a way back (loop)"),
            ("lucky", 3, "a pass without second evidence (lucky?)"),
        )
    )
    + "</p>"
)

SECTION = Section("Graphs", render)
