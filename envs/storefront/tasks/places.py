"""Which kind of task stands at which place of a list, so that every stretch of it has about the mix
that was asked for.
"""

from dataclasses import dataclass
from random import Random
from typing import Literal

from synth.envs.storefront.world.config import Mix

TaskKind = Literal["feasible", "refused", "ambiguous", "conditional", "stale", "done"]
KINDS: tuple[TaskKind, ...] = ("feasible", "refused", "ambiguous", "conditional", "stale", "done")
GOLDEN = 0.6180339887498949
SILVER = 0.41421356237309503
"""Multiples of either, modulo one, fill the unit interval evenly however many there are, and
independently of the other.
"""


@dataclass(frozen=True, slots=True)
class DrawPlace:
    """The kind of a task; the two tasks of a minimal pair stand side by side and share `pair`."""

    kind: TaskKind
    pair: int | None = None


def place(mix: Mix, seed: int, index: int) -> DrawPlace:
    """The task at an index: of every two neighbours both belong to one pair, with twice the
    probability of the rarer half, or each is
    drawn from what the pairs leave of the mix.
    """
    weights = {kind: float(getattr(mix, kind)) / sum(mix.model_dump().values()) for kind in KINDS}
    paired = min(weights["feasible"], weights["refused"])
    start = Random(f"storefront/mix/{seed}").random()
    block, side = divmod(index, 2)
    even = (start + block * GOLDEN) % 1.0
    if even < 2 * paired:
        refused_first = Random(f"storefront/pair/{seed}/{block}").random() < 0.5
        return DrawPlace("refused" if refused_first is (side == 0) else "feasible", block)
    left = {
        **weights,
        "feasible": weights["feasible"] - paired,
        "refused": weights["refused"] - paired,
    }
    at = ((start * 7 + index * SILVER) % 1.0) * sum(left.values())
    for kind in KINDS:
        at -= left[kind]
        if at < 0:
            return DrawPlace(kind)
    return DrawPlace(max(KINDS, key=lambda kind: left[kind]))
