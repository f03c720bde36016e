"""Where boxes stand: from top to bottom by what leads to them, loops turned back; within a layer
near their neighbours.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from synth.report.folding import Arrow
from synth.topology.graph import FAILURE, START, SUCCESS

SWEEPS = 6


class Layers(msgspec.Struct, frozen=True):
    """Names from top to bottom, those of a layer from left to right; the arrows that lead back
    (loops).

    An arrow that passes layers by has a bend in each, a name of its own that it shares with the
    other arrows to the same box; `routes`
    gives the names that each forward arrow runs through, its ends included.
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
    forward = [
        (arrow.source, arrow.target) for arrow in arrows if (arrow.source, arrow.target) not in back
    ]
    depth = _depths(names, forward)
    last = max([depth[name] for name in names if name not in (SUCCESS, FAILURE)], default=0) + 1
    depth |= {end: last for end in (SUCCESS, FAILURE) if end in depth}
    used = sorted({depth[name] for name in names})
    at = {name: used.index(depth[name]) for name in names}
    rows: list[list[str]] = [[] for _ in used]
    for name in names:
        rows[at[name]].append(name)
    routes = {}
    for source, target in forward:
        bends = [(row, f"{target} by {row}") for row in range(at[source] + 1, at[target])]
        for row, bend in bends:
            if bend not in rows[row]:
                rows[row].append(bend)
        routes[source, target] = (source, *(bend for _, bend in bends), target)
    found = Layers(rows, back, routes)
    return Layers(_ordered(rows, found.links), back, routes)


def _back(names: Sequence[str], arrows: Sequence[Arrow]) -> set[tuple[str, str]]:
    """Arrows into a box that the way there came through, busy ways first."""
    after: dict[str, list[str]] = {}
    for arrow in sorted(arrows, key=lambda arrow: (-arrow.n, arrow.target)):
        after.setdefault(arrow.source, []).append(arrow.target)
    found: set[tuple[str, str]] = set()
    done: set[str] = set()
    for root in (START, *names):
        if root in done:
            continue
        path, on_path = [(root, iter(after.get(root, ())))], {root}
        while path:
            name, following = path[-1]
            target = next(following, None)
            if target is None:
                path.pop()
                on_path.discard(name)
                done.add(name)
            elif target in on_path:
                found.add((name, target))
            elif target not in done:
                path.append((target, iter(after.get(target, ()))))
                on_path.add(target)
    return found


def _depths(names: Sequence[str], forward: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Longest way from a box that nothing leads to."""
    before: dict[str, list[str]] = {name: [] for name in names}
    after: dict[str, list[str]] = {name: [] for name in names}
    for one, other in forward:
        before[other].append(one)
        after[one].append(other)
    waiting = {name: len(found) for name, found in before.items()}
    ready = [name for name in names if not waiting[name]]
    depth = dict.fromkeys(names, 0)
    while ready:
        name = ready.pop()
        for other in after[name]:
            depth[other] = max(depth[other], depth[name] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return depth


def _ordered(columns: list[list[str]], forward: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Each column by the mean place of its neighbours, swept to and fro."""
    near: dict[str, list[str]] = {}
    for one, other in forward:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            place = _places(columns)
            column.sort(
                key=lambda name: (
                    _mean([place[other] for other in near.get(name, ())], place[name]),
                    name,
                )
            )
    return columns


def _places(columns: Sequence[Sequence[str]]) -> Mapping[str, float]:
    """0 to 1 from the top of a column to its bottom."""
    return {name: (at + 0.5) / len(column) for column in columns for at, name in enumerate(column)}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
