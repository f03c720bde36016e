"""A task's graph as a picture: potential by colour, traffic by width, loops and passes without second evidence marked."""

from collections.abc import Collection, Mapping, Sequence

from synth.ledger.graph_rows import Edge, Node
from synth.report.folding import Arrow, Box, folded
from synth.report.html import escape
from synth.report.layering import layers
from synth.topology.graph import FAILURE, START, SUCCESS

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN, LOOP_ROOM = 156, 40, 74, 20, 24, 46
KAPPA = 2.0
STEPS = 4
"""Shades of either side of the scale."""
LABEL, LONGEST_TITLE, MOST_LINES = 19, 260, 12

STYLE = """
.graph { display: block; min-width: 100%; }
.graph text { font: 12px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
.graph .count { font-size: 11px; fill: var(--quiet); }
.graph rect { stroke: var(--line); stroke-width: 1; }
.graph g.box:hover rect, .graph g.box:focus rect { stroke: var(--link); stroke-width: 2.5; }
.graph path { fill: none; stroke: var(--edge); }
.graph path.good { stroke: var(--good); } .graph path.bad { stroke: var(--bad); }
.graph path.loop { stroke-dasharray: 6 4; } .graph path.lucky { stroke-dasharray: 2 4; }
.scale { display: flex; flex-wrap: wrap; gap: .35rem 1.2rem; align-items: center; font-size: .88rem; color: var(--quiet); margin: .6rem 0; }
.scale svg { vertical-align: middle; }
:root { --edge: #9aa3aa; --good: #3f9763; --bad: #c9564f; --mid: #eceeef;
  --d4: #f0a9a1; --d3: #f4bdb6; --d2: #f7d1cc; --d1: #f9e4e1; --u1: #e0f0e6; --u2: #c6e4d1; --u3: #a9d7ba; --u4: #88c8a1; }
@media (prefers-color-scheme: dark) { :root { --edge: #6d767e; --good: #5fbf87; --bad: #e57b73; --mid: #2a2f34;
  --d4: #8c352f; --d3: #6f2d29; --d2: #552624; --d1: #3d2221; --u1: #1e3127; --u2: #214030; --u3: #255139; --u4: #2a6644; } }
"""


def shade(n: int, n_success: int, rate: float) -> str:
    """The colour of a box: how much better its trials did than all of the task, shrunk; a picture of what happened, no estimate."""
    value = (n_success + KAPPA * rate) / (n + KAPPA) - rate
    step = max(-STEPS, min(STEPS, round(value * 2 * STEPS)))
    return "--mid" if not step else f"--{'u' if step > 0 else 'd'}{abs(step)}"


def picture(nodes: Sequence[Node], edges: Sequence[Edge], said: Mapping[str, str], lucky: Collection[tuple[str, str]] = ()) -> str:
    """The graph as SVG. `said` gives what was done at a node, for its tooltip; `lucky` are edges of passes without second evidence."""
    boxes, arrows = folded(nodes, edges)
    by_name = {box.name: box for box in boxes}
    home = {member.node: box.name for box in boxes for member in box.members}
    columns, back = layers([box.name for box in boxes], arrows)
    tallest = max(len(column) for column in columns)
    height = 2 * MARGIN + tallest * HEIGHT + (tallest - 1) * GAP_Y + (LOOP_ROOM if back else 0)
    width = 2 * MARGIN + len(columns) * WIDTH + (len(columns) - 1) * GAP_X
    at: dict[str, tuple[float, float]] = {}
    for x, column in enumerate(columns):
        top = (height - (LOOP_ROOM if back else 0) - len(column) * HEIGHT - (len(column) - 1) * GAP_Y) / 2
        at |= {name: (MARGIN + x * (WIDTH + GAP_X), top + y * (HEIGHT + GAP_Y)) for y, name in enumerate(column)}
    start = by_name[START]
    rate = start.n_success / start.n
    marked = {(home.get(one, ""), home.get(other, "")) for one, other in lucky}
    lines = [_arrow(arrow, at, back, marked, start.n, height) for arrow in sorted(arrows, key=lambda arrow: arrow.n)]
    drawn = [_box(box, at[box.name], rate, said) for box in boxes]
    label = f"Graph of {start.n} trials, {start.n_success} of them solved, in {len(boxes)} boxes"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg class="graph" role="img" aria-label="{escape(label)}" {size}>{"".join(lines)}{"".join(drawn)}</svg>'


def _arrow(
    arrow: Arrow,
    at: Mapping[str, tuple[float, float]],
    back: Collection[tuple[str, str]],
    lucky: Collection[tuple[str, str]],
    trials: int,
    height: float,
) -> str:
    kinds = [kind for kind, holds in (("good", arrow.target == SUCCESS), ("bad", arrow.target == FAILURE)) if holds]
    (x1, y1), (x2, y2) = at[arrow.source], at[arrow.target]
    y1, y2 = y1 + HEIGHT / 2, y2 + HEIGHT / 2
    if (arrow.source, arrow.target) in back:
        kinds.append("loop")
        low = min(max(y1, y2) + HEIGHT, height - 12)
        line = f"M{x1 + WIDTH / 2:.0f} {y1 + HEIGHT / 2:.0f} C{x1 + WIDTH / 2:.0f} {low + 26:.0f} "
        line += f"{x2 + WIDTH / 2:.0f} {low + 26:.0f} {x2 + WIDTH / 2:.0f} {y2 + HEIGHT / 2:.0f}"
    else:
        bend = max(GAP_X / 2, (x2 - x1 - WIDTH) / 2)
        line = f"M{x1 + WIDTH:.0f} {y1:.0f} C{x1 + WIDTH + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    if (arrow.source, arrow.target) in lucky:
        kinds.append("lucky")
    wide = 1.2 + 8 * arrow.n / trials
    note = f"{arrow.n} of {trials} trials, {arrow.n_success} of them solved" + (", on a way back" if "loop" in kinds else "")
    note += ", of a pass without second evidence" if "lucky" in kinds else ""
    return f'<path class="{" ".join(kinds)}" d="{line}" stroke-width="{wide:.1f}"><title>{escape(note)}</title></path>'


def _box(box: Box, at: tuple[float, float], rate: float, said: Mapping[str, str]) -> str:
    x, y = at
    colour = {SUCCESS: "--u4", FAILURE: "--d4", START: "--mid"}.get(box.name) or shade(box.n, box.n_success, rate)
    count = f"{box.n} trial{'s' if box.n != 1 else ''}, {box.n_success} solved"
    title = escape("\n".join([count, *_done(box, said)]))
    return (
        f'<g class="box" tabindex="0"><title>{title}</title><rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="7" '
        f'fill="var({colour})"/><text x="{x + 9:.0f}" y="{y + 17:.0f}">{escape(_label(box))}</text>'
        f'<text class="count" x="{x + 9:.0f}" y="{y + 32:.0f}">{count}</text></g>'
    )


def _label(box: Box) -> str:
    """What is done in a box, in a few words."""
    if box.name in (START, SUCCESS, FAILURE):
        return {START: "start", SUCCESS: "solved", FAILURE: "not solved"}[box.name]
    if box.bundled:
        return f"{box.bundled} detours"
    first = "+".join(box.members[0].tools)
    more = f" +{len(box.members) - 1}" if len(box.members) > 1 else ""
    room = LABEL - len(more)
    return (first if len(first) <= room else first[: room - 1] + "…") + more


def _done(box: Box, said: Mapping[str, str]) -> list[str]:
    lines = [said.get(member.node, "+".join(member.tools)) for member in box.members if member.tools]
    shown = [line if len(line) <= LONGEST_TITLE else line[:LONGEST_TITLE] + "…" for line in lines[:MOST_LINES]]
    return [*shown, *([f"… and {len(lines) - MOST_LINES} more turns"] if len(lines) > MOST_LINES else [])]
