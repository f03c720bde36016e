"""A task's graph as a picture: potential by colour, traffic by width, loops and passes without
second evidence marked.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from synth.ledger.tables.graph_rows import Edge, Node
from synth.report.folding import Arrow, Box, folded
from synth.report.layering import layers
from synth.report.placing import placed
from synth.report.style import themed
from synth.schemas.printable import in_html
from synth.topology.graph import FAILURE, START, SUCCESS

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN, LOOP_ROOM, BEND = 172, 38, 18, 34, 12, 56, 8
KAPPA = 2.0
STEPS = 4
"""Shades of either side of the scale."""
LABEL, LONGEST_TITLE, MOST_LINES = 22, 260, 12

STYLE = """
.graph { display: block; margin: 0 auto; }
.graph text { font: 12px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
.graph .count { font-size: 11px; fill: var(--quiet); }
.graph rect { stroke: var(--line); stroke-width: 1; }
.graph g.box:hover rect, .graph g.box:focus rect { stroke: var(--link); stroke-width: 2.5; }
.graph path, .key path { fill: none; stroke: var(--edge); stroke-opacity: .75; }
.graph path:hover { stroke: var(--link); stroke-opacity: 1; }
path.good { stroke: var(--good) !important; } path.bad { stroke: var(--bad) !important; } path.loop { stroke-dasharray: 7 4; }
path.lucky { stroke-dasharray: 2 3; stroke: var(--lucky) !important; stroke-opacity: 1 !important; }
.scale { display: flex; flex-wrap: wrap; gap: .35rem 1.2rem; align-items: center; font-size: .88rem; color: var(--quiet); margin: .6rem 0; }
.scale svg { vertical-align: middle; }
""" + themed(
    """
  --edge: #9aa3aa; --good: #3f9763; --bad: #c9564f; --mid: #eceeef; --lucky: #b26a00;
  --d4: #f0a9a1; --d3: #f4bdb6; --d2: #f7d1cc; --d1: #f9e4e1; --u1: #e0f0e6; --u2: #c6e4d1; --u3: #a9d7ba; --u4: #88c8a1;""",
    """
  --edge: #6d767e; --good: #5fbf87; --bad: #e57b73; --mid: #2a2f34; --lucky: #f0b04a;
  --d4: #8c352f; --d3: #6f2d29; --d2: #552624; --d1: #3d2221; --u1: #1e3127; --u2: #214030; --u3: #255139; --u4: #2a6644;""",
)


def shade(n: int, n_success: int, rate: float) -> str:
    """The colour of a box: how much better its trials did than all of the task, shrunk; a picture
    of what happened, no estimate.
    """
    value = (n_success + KAPPA * rate) / (n + KAPPA) - rate
    step = max(-STEPS, min(STEPS, round(value * 2 * STEPS)))
    return "--mid" if not step else f"--{'u' if step > 0 else 'd'}{abs(step)}"


def picture(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    said: Mapping[str, str],
    lucky: Collection[tuple[str, str]] = (),
) -> str:
    """The graph as SVG. `said` gives what was done at a node, for its tooltip; `lucky` are edges of
    passes without second evidence.
    """
    boxes, arrows = folded(nodes, edges)
    by_name = {box.name: box for box in boxes}
    home = {member.node: box.name for box in boxes for member in box.members}
    found = layers([box.name for box in boxes], arrows)
    middle = placed(
        found.rows,
        found.links,
        {name: WIDTH if name in by_name else BEND for row in found.rows for name in row},
        GAP_X,
    )
    top = {
        name: MARGIN + row * (HEIGHT + GAP_Y)
        for row, names in enumerate(found.rows)
        for name in names
    }
    at = {name: (MARGIN + middle[name], top[name]) for name in top}
    width = round(
        max(x for x, _ in at.values()) + WIDTH / 2 + MARGIN + (LOOP_ROOM if found.back else 0)
    )
    height = 2 * MARGIN + len(found.rows) * (HEIGHT + GAP_Y) - GAP_Y
    start = by_name[START]
    rate = start.n_success / start.n
    marked = {(home.get(one, ""), home.get(other, "")) for one, other in lucky}
    lines = []
    for arrow in sorted(arrows, key=lambda arrow: arrow.n):
        ends = (arrow.source, arrow.target)
        path = (
            _back(at[arrow.source], at[arrow.target])
            if ends in found.back
            else _down([at[name] for name in found.routes[ends]])
        )
        lines.append(
            _arrow(arrow, path, loop=ends in found.back, lucky=ends in marked, trials=start.n)
        )
    drawn = [_box(box, at[box.name], rate, said) for box in boxes]
    label = f"Graph of {start.n} trials, {start.n_success} of them solved, in {len(boxes)} boxes"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg class="graph" role="img" aria-label="{in_html(label)}" '
        f"{size}>{''.join(lines)}{''.join(drawn)}</svg>"
    )


def _down(points: Sequence[tuple[float, float]]) -> str:
    """From the lower edge of a box through its bends to the upper edge of another."""
    (x, y), *rest = points
    y += HEIGHT
    line = f"M{x:.0f} {y:.0f}"
    for at, (to_x, to_y) in enumerate(rest, 1):
        half = (to_y - y) / 2
        line += f"C{x:.0f} {y + half:.0f} {to_x:.0f} {to_y - half:.0f} {to_x:.0f} {to_y:.0f}"
        x, y = to_x, to_y
        if at < len(rest):
            y += HEIGHT
            line += f"V{y:.0f}"
    return line


def _back(source: tuple[float, float], target: tuple[float, float]) -> str:
    """Out of the right side of a box and up again into that of another, or of the same."""
    (x1, y1), (x2, y2) = ((x + WIDTH / 2, y + HEIGHT / 2) for x, y in (source, target))
    if source == target:
        y1, y2 = y1 + HEIGHT / 4, y2 - HEIGHT / 4
    out = max(x1, x2) + LOOP_ROOM
    return f"M{x1:.0f} {y1:.0f}C{out:.0f} {y1:.0f} {out:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"


def _arrow(arrow: Arrow, line: str, *, loop: bool, lucky: bool, trials: int) -> str:
    kinds = {
        "good": arrow.target == SUCCESS,
        "bad": arrow.target == FAILURE,
        "loop": loop,
        "lucky": lucky,
    }
    named = " ".join(kind for kind, holds in kinds.items() if holds)
    wide = 1.2 + 8 * arrow.n / trials
    note = f"{arrow.n} of {trials} trials, {arrow.n_success} of them solved" + (
        ", on a way back" if loop else ""
    )
    note += ", of a pass without second evidence" if lucky else ""
    return (
        f'<path class="{named}" d="{line}" '
        f'stroke-width="{wide:.1f}"><title>{in_html(note)}</title></path>'
    )


def _box(box: Box, at: tuple[float, float], rate: float, said: Mapping[str, str]) -> str:
    x, y = at[0] - WIDTH / 2, at[1]
    colour = {SUCCESS: "--u4", FAILURE: "--d4", START: "--mid"}.get(box.name) or shade(
        box.n, box.n_success, rate
    )
    count = f"{box.n} trial{'s' if box.n != 1 else ''}, {box.n_success} solved"
    title = in_html("\n".join([count, *_done(box, said)]))
    return (
        f'<g class="box" tabindex="0"><title>{title}</title><rect x="{x:.0f}" y="{y:.0f}" '
        f'width="{WIDTH}" height="{HEIGHT}" rx="7" '
        f'fill="var({colour})"/><text x="{x + 9:.0f}" '
        f'y="{y + 16:.0f}">{in_html(_label(box))}</text>'
        f'<text class="count" x="{x + 9:.0f}" y="{y + 30:.0f}">{count}</text></g>'
    )


def _label(box: Box) -> str:
    """What is done in a box, in a few words."""
    if box.name in (START, SUCCESS, FAILURE):
        return {START: "start", SUCCESS: "solved", FAILURE: "not solved"}[box.name]
    if box.bundled:
        return f"{box.bundled} detours"
    first = "+".join(
        name if count == 1 else f"{count} {name}"
        for name, count in Counter(box.members[0].tools).items()
    )
    more = f" +{len(box.members) - 1}" if len(box.members) > 1 else ""
    room = LABEL - len(more)
    return (first if len(first) <= room else first[: room - 1] + "…") + more


def _done(box: Box, said: Mapping[str, str]) -> list[str]:
    lines = [
        said.get(member.node, "+".join(member.tools)) for member in box.members if member.tools
    ]
    shown = [
        line if len(line) <= LONGEST_TITLE else line[:LONGEST_TITLE] + "…"
        for line in lines[:MOST_LINES]
    ]
    return [
        *shown,
        *([f"… and {len(lines) - MOST_LINES} more turns"] if len(lines) > MOST_LINES else []),
    ]
