"""Where boxes stand: from top to bottom by what leads to them, loops turned back; within a layer
near their neighbours, in an order that is kept, nothing over another.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import networkx as nx
import numpy as np
from scipy.optimize import isotonic_regression

from synth.report.graph.folding import Arrow
from synth.topology.graph import FAILURE, START, SUCCESS

ORDERING_SWEEPS, PLACING_SWEEPS = 6, 12


class Layers(msgspec.Struct, frozen=True):
    """Names from top to bottom, those of a layer from left to right; the arrows that lead back
    (loops).

    An arrow that passes layers by has a bend in each, a name of its own that it shares with the
    other arrows to the same box; `routes` gives the names that each forward arrow runs through, its
    ends included.
    """

    rows: list[list[str]]
    back: set[tuple[str, str]]
    routes: Mapping[tuple[str, str], tuple[str, ...]]

    @property
    def links(self) -> list[tuple[str, str]]:
        """Names of neighbouring layers that an arrow joins, each pair once."""
        return list(
            dict.fromkeys(pair for route in self.routes.values() for pair in pairwise(route))
        )


def layers(names: Sequence[str], arrows: Sequence[Arrow]) -> Layers:
    """START stands alone in the first layer, the ends in the last one."""
    back = _back(names, arrows)
    forward = [ends for arrow in arrows if (ends := (arrow.source, arrow.target)) not in back]
    at = _depths(names, forward)

    rows: list[list[str]] = [[] for _ in range(max(at.values()) + 1)]
    for name in names:
        rows[at[name]].append(name)

    # an arrow runs through every layer between its ends
    routes = {}

    for source, target in forward:
        passed = range(at[source] + 1, at[target])
        bends = [f"{target} by {row}" for row in passed]
        routes[source, target] = (source, *bends, target)

        for row, bend in zip(passed, bends, strict=True):
            if bend not in rows[row]:
                rows[row].append(bend)

    found = Layers(rows, back, routes)
    _order(rows, found.links)

    return found


def _graph(names: Sequence[str], ends: Sequence[tuple[str, str]]) -> Any:
    found: Any = nx.DiGraph()

    # names first, so that the graph keeps their order
    found.add_nodes_from(names)
    found.add_edges_from(ends)
    return found


def _back(names: Sequence[str], arrows: Sequence[Arrow]) -> set[tuple[str, str]]:
    """Arrows into a box that the way there came through, busy ways first."""
    busy = sorted(arrows, key=lambda arrow: (-arrow.n, arrow.target))

    graph = _graph((START, *names), [(arrow.source, arrow.target) for arrow in busy])
    found, way = set(), set[str]()

    # networkx walks depth first, and says when it enters a box, leaves it, and meets one again
    for source, target, kind in nx.dfs_labeled_edges(graph):
        if kind == "forward":
            way.add(target)
        elif kind == "reverse":
            way.discard(target)
        elif target in way:
            found.add((source, target))

    return found


def _depths(names: Sequence[str], forward: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The longest way to each box, in boxes; the ends are the deepest of all."""
    generations = nx.topological_generations(_graph(names, forward))

    # a box stands in the generation after the last that leads to it
    depth = {name: at for at, generation in enumerate(generations) for name in generation}

    ends = {SUCCESS, FAILURE} & set(depth)
    last = max((depth[name] for name in names if name not in ends), default=0) + 1
    depth |= dict.fromkeys(ends, last)

    # no layer stays empty where an end stood before it was moved to the last one
    used = sorted(set(depth.values()))

    return {name: used.index(at) for name, at in depth.items()}


def _order(rows: Sequence[list[str]], links: Sequence[tuple[str, str]]) -> None:
    """Orders each row by the mean place of its neighbours, swept to and fro."""
    near: dict[str, list[str]] = {}

    for one, other in links:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)

    for sweep in range(ORDERING_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            # 0 to 1 from one side of a row to the other
            place = {name: (at + 0.5) / len(each) for each in rows for at, name in enumerate(each)}
            mean = {}

            for name in row:
                others = [place[other] for other in near.get(name, (name,))]
                mean[name] = sum(others) / len(others), name

            # names settle ties, so that a graph is drawn alike each time
            row.sort(key=mean.__getitem__)


def placed(
    rows: Sequence[Sequence[str]],
    links: Sequence[tuple[str, str]],
    widths: Mapping[str, float],
    gap: float,
) -> dict[str, float]:
    """Name -> its middle; the leftmost edge is 0. `links` join names of neighbouring rows."""
    near: dict[str, list[str]] = {name: [] for row in rows for name in row}

    for one, other in links:
        near[one].append(other)
        near[other].append(one)

    # packed to the left at first
    middle = dict.fromkeys(near, 0.0)

    for row in rows:
        middle |= _apart([0.0] * len(row), row, widths, gap)

    for sweep in range(PLACING_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            others = [[middle[other] for other in near[name] or (name,)] for name in row]
            wanted = [sum(found) / len(found) for found in others]

            middle |= _apart(wanted, row, widths, gap)

    # the leftmost edge of all is where the picture begins
    left = min(middle[name] - widths[name] / 2 for name in middle)

    return {name: value - left for name, value in middle.items()}


def _apart(
    wanted: Sequence[float], row: Sequence[str], widths: Mapping[str, float], gap: float
) -> dict[str, float]:
    """Middles as near to the wanted ones as the order allows, by least squares."""
    apart = [(widths[one] + widths[other]) / 2 + gap for one, other in pairwise(row)]

    # where each would stand if all stood side by side
    offsets = np.cumsum([0.0, *apart])

    # what is left of the wish without the offsets may not fall from left to right
    found = isotonic_regression(np.subtract(wanted, offsets)).x + offsets

    return dict(zip(row, found.tolist(), strict=True))
