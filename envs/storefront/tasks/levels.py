"""Tasks at a level between two steps: some at the step below, some at the step above, so that the
pass rate has no jumps.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from synth.envs.storefront.tasks import goals
from synth.envs.storefront.world.config import STEPS, validated
from synth.schemas.task import Task


def make_tasks(settings: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """`count` tasks; the same ones for the same settings and seed, and a longer list starts with
    the shorter one.

    With a `level`, each two neighbours (which may be a minimal pair) are drawn at one of the steps
    around it; the mean step is the level.
    Raises `ConfigError` for settings that the storefront refuses.
    """
    level = validated(settings).level
    if level is None:
        return goals.make_tasks(settings, seed, count)
    below = min(int(level * STEPS), STEPS - 1)
    share = level * STEPS - below
    easier, harder = (
        goals.make_tasks({**settings, "level": step / STEPS}, seed, count)
        for step in (below, below + 1)
    )
    draws = [
        Random(f"storefront/level/{seed}/{block}").random() for block in range((count + 1) // 2)
    ]
    return tuple((harder if draws[at // 2] < share else easier)[at] for at in range(count))
