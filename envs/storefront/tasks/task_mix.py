"""Which kind of task stands at which place of a list, so that every stretch of it has about the mix
that was asked for.
"""

from dataclasses import dataclass
from random import Random

from synth.envs.storefront.world.config import Mix

KINDS: tuple[str, ...] = tuple(Mix.model_fields)
GOLDEN = 0.6180339887498949
SILVER = 0.41421356237309503
"""Multiples of either, modulo one, fill the unit interval evenly however many there are, and
independently of the other.
"""


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """The kind of a task; the two tasks of a minimal pair stand side by side and share `pair`."""

    kind: str
    pair: int | None = None


def place(mix: Mix, seed: int, index: int) -> TaskPlace:
    """The task at an index: of every two neighbours both belong to one pair, with twice the
    probability of the rarer half, or each is drawn from what the pairs leave of the mix.
    """
    weights = mix.model_dump()
    left = {kind: weight / sum(weights.values()) for kind, weight in weights.items()}
    paired = min(left["feasible"], left["refused"])
    start = Random(f"storefront/mix/{seed}").random()
    block, side = divmod(index, 2)

    # a pair holds one task of each of its two kinds
    if (start + block * GOLDEN) % 1.0 < 2 * paired:
        refused_first = Random(f"storefront/pair/{seed}/{block}").random() < 0.5

        return TaskPlace(
            "refused" if refused_first is (side == 0) else "feasible",
            block,
        )

    left["feasible"] -= paired
    left["refused"] -= paired
    # the start is stretched, so that the two series do not begin alike
    at = ((start * 7 + index * SILVER) % 1.0) * sum(left.values())

    for kind in KINDS:
        at -= left[kind]

        if at < 0:
            return TaskPlace(kind)

    # rounding may leave a hair above zero
    return TaskPlace(max(KINDS, key=lambda kind: left[kind]))
