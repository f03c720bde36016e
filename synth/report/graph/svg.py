"""A task's graph as a picture: potential by colour, traffic by width, loops and passes without
second evidence marked.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from synth.ledger.tables.graph_rows import Edge, Node
from synth.report.graph.folding import Arrow, Box, folded
from synth.report.graph.layout import Layers, layers, placed
from synth.report.section import cut
from synth.report.templates import rendered
from synth.topology.graph import FAILURE, START, SUCCESS

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN, LOOP_ROOM, BEND = 172, 38, 18, 34, 12, 56, 8
Point = tuple[float, float]
KAPPA = 2.0
STEPS = 4
"""Shades of either side of the scale."""
LABEL, LONGEST_TITLE, MOST_LINES = 22, 260, 12


def shade(n: int, n_success: int, rate: float) -> str:
    """The colour of a box: how much better its trials did than all of the task, shrunk; a picture
    of what happened, no estimate.
    """
    # as if KAPPA more trials had done as well as the task does
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

    # from top to bottom first, then from left to right
    found = layers(list(by_name), arrows)
    at = _places(found, by_name)

    start, marked = by_name[START], _marked(boxes, lucky)

    right = max(x for x, _ in at.values()) + WIDTH / 2 + MARGIN
    return rendered(
        "graph.svg",
        start=start,
        boxes=[(box, at[box.name], *_told(box, start, said)) for box in boxes],
        lines=list(_lines(arrows, found, at, marked)),
        ends={"solved": SUCCESS, "failed": FAILURE},
        width=round(right + (LOOP_ROOM if found.back else 0)),
        height=2 * MARGIN + len(found.rows) * (HEIGHT + GAP_Y) - GAP_Y,
        box_width=WIDTH,
        box_height=HEIGHT,
    )


def _marked(boxes: Sequence[Box], lucky: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The ends of arrows that lucky passes went along: they are told by nodes, which may be folded
    into one box.
    """
    home = {member.node: box.name for box in boxes for member in box.members}
    return {(home.get(one, ""), home.get(other, "")) for one, other in lucky}


def _places(found: Layers, boxes: Collection[str]) -> dict[str, Point]:
    """Name -> the middle of its upper edge."""
    widths = {name: WIDTH if name in boxes else BEND for names in found.rows for name in names}
    middle = placed(found.rows, found.links, widths, GAP_X)

    return {
        name: (MARGIN + middle[name], MARGIN + row * (HEIGHT + GAP_Y))
        for row, names in enumerate(found.rows)
        for name in names
    }


def _lines(
    arrows: Sequence[Arrow],
    found: Layers,
    at: Mapping[str, Point],
    marked: Collection[tuple[str, str]],
) -> Iterator[tuple[Arrow, str, bool, bool]]:
    """Each arrow with its path, whether it is a loop, and whether it is marked."""
    # busy ways lie above the others
    for arrow in sorted(arrows, key=lambda arrow: arrow.n):
        ends = (arrow.source, arrow.target)
        is_loop = ends in found.back

        points = [at[name] for name in (ends if is_loop else found.routes[ends])]
        path = (_back if is_loop else _down)(points)

        yield arrow, path, is_loop, ends in marked


def _down(points: Sequence[Point]) -> str:
    """From the lower edge of a box through its bends to the upper edge of another."""
    (x, y), *bends = points

    # from the lower edge
    y += HEIGHT
    line = f"M{x:.0f} {y:.0f}"

    for at, (to_x, to_y) in enumerate(bends, 1):
        half = (to_y - y) / 2
        line += f"C{x:.0f} {y + half:.0f} {to_x:.0f} {to_y - half:.0f} {to_x:.0f} {to_y:.0f}"

        x, y = to_x, to_y

        # a bend is as high as a box, and the line runs straight through it
        if at < len(bends):
            y += HEIGHT
            line += f"V{y:.0f}"

    return line


def _back(points: Sequence[Point]) -> str:
    """Out of the right side of a box and up again into that of another, or of the same."""
    source, target = points
    (x1, y1), (x2, y2) = ((x + WIDTH / 2, y + HEIGHT / 2) for x, y in points)
    if source == target:
        y1, y2 = y1 + HEIGHT / 4, y2 - HEIGHT / 4

    out = max(x1, x2) + LOOP_ROOM
    return f"M{x1:.0f} {y1:.0f}C{out:.0f} {y1:.0f} {out:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"


def _told(box: Box, start: Box, said: Mapping[str, str]) -> tuple[str, str, list[str]]:
    """The colour of a box, what is done in it in a few words, and a line for each of its turns."""
    ends = {START: ("--mid", "start"), SUCCESS: ("--u4", "solved"), FAILURE: ("--d4", "not solved")}
    if box.name in ends:
        return *ends[box.name], []

    # a line for each turn of the box, the first ones of a long one
    acts = [said.get(one.node, "+".join(one.tools)) for one in box.members if one.tools]

    lines = [cut(act, LONGEST_TITLE) for act in acts[:MOST_LINES]]
    if len(acts) > MOST_LINES:
        lines.append(f"… and {len(acts) - MOST_LINES} more turns")

    # a picture of what happened there, shrunk to the rate of the task
    colour = shade(box.n, box.n_success, start.n_success / start.n)
    return colour, f"{box.bundled} detours" if box.bundled else _label(box.members), lines


def _label(members: Sequence[Node]) -> str:
    """What is done in the first turn, and how many follow."""
    more = f" +{len(members) - 1}" if len(members) > 1 else ""
    first = "+".join(
        name if count == 1 else f"{count} {name}"
        for name, count in Counter(members[0].tools).items()
    )

    # cut where a box has no more room
    room = LABEL - len(more)

    return (first if len(first) <= room else first[: room - 1] + "…") + more
