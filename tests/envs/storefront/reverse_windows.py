"""What a stretch of an exploration becomes."""

from synth.envs.storefront import WORLD
from synth.schemas.task import Task
from tests.envs.storefront.exploring import (
    passes,
    solution,
)

STRATEGIES = (0, 1, 5)
"""Seeds with different ways to identify the customer, to order the requests and to find an order.
"""


async def survivors(task: Task) -> tuple[int, list[str]]:
    """How many mutants there are, and which of them pass."""
    assert WORLD.mutants is not None
    made = list(WORLD.mutants(task, await solution(task)))
    return len(made), [kind for kind, turns in made if await passes(task, turns)]
