"""How far from the left everything stands: each near the middle of its neighbours, in the order of
its layer, nothing over another.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

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

    # packed to the left at first
    middle = dict.fromkeys(near, 0.0)

    for row in rows:
        middle |= _apart([0.0] * len(row), row, widths, gap)

    for sweep in range(SWEEPS):
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
