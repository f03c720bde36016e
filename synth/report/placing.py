"""How far from the left everything stands: each near the middle of its neighbours, in the order of
its layer, nothing over another.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

SWEEPS = 12


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
    middle: dict[str, float] = {}
    for row in rows:
        middle.update(_apart([0.0] * len(row), row, widths, gap))
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [
                sum(middle[other] for other in near[name]) / len(near[name])
                if near[name]
                else middle[name]
                for name in row
            ]
            middle.update(_apart(wanted, row, widths, gap))
    left = min((middle[name] - widths[name] / 2 for name in middle), default=0.0)
    return {name: value - left for name, value in middle.items()}


def _apart(
    wanted: Sequence[float], row: Sequence[str], widths: Mapping[str, float], gap: float
) -> dict[str, float]:
    """Middles as near to the wanted ones as the order allows (least squares: neighbours that would
    overlap are pooled).
    """
    offsets = [0.0]
    for one, other in pairwise(row):
        offsets.append(offsets[-1] + (widths[one] + widths[other]) / 2 + gap)
    pools: list[tuple[float, int]] = []
    for value, offset in zip(wanted, offsets, strict=True):
        pools.append((value - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (left, n), (right, m) = pools[-2:]
            pools[-2:] = [((left * n + right * m) / (n + m), n + m)]
    flat = [value for value, count in pools for _ in range(count)]
    return {name: value + offset for name, value, offset in zip(row, flat, offsets, strict=True)}
