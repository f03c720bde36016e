"""How many rows each task gets: most where its pass rate is in the middle, few where it always
passes.
"""

from collections.abc import Mapping
from math import sqrt

import msgspec

PRIOR = 2.0
"""Beta(2, 2) over the pass rate of a task."""
EASY = 7 / 8
FEWEST_TRIALS = 4
"""By which a task can be called easy: half of those that pass every other time pass in one trial of
one.
"""


class TaskQuota(msgspec.Struct, frozen=True):
    """A task's trials with a verdict, the successes among them, and how many rows it could give."""

    trials: int
    successes: int
    available: int

    @property
    def pass_rate(self) -> float:
        """Shrunk to a half."""
        return (self.successes + PRIOR) / (self.trials + 2 * PRIOR)

    @property
    def easy(self) -> bool:
        """Whether it passes nearly always, as observed in at least `FEWEST_TRIALS`."""
        return self.trials >= FEWEST_TRIALS and self.successes >= EASY * self.trials


def allocated(tasks: Mapping[str, TaskQuota], rows: int, cap: int) -> dict[str, int]:
    """Rows per task: proportional to sqrt(p (1 - p)), at most `cap` and what it has, `rows`
    together or as near as that allows.

    Whole numbers by largest remainder; ties and order by task id, so that equal tasks give equal
    answers. What a task cannot take
    goes to the others.
    """
    limits = {
        task: min(cap, standing.available)
        for task, standing in sorted(tasks.items())
        if standing.available > 0
    }
    weights = {task: sqrt(tasks[task].pass_rate * (1 - tasks[task].pass_rate)) for task in limits}
    shares = _shares(limits, weights, min(rows, sum(limits.values())))
    given = {task: int(share) for task, share in shares.items()}
    left = min(rows, sum(limits.values())) - sum(given.values())
    open_tasks = [task for task in limits if given[task] < limits[task]]
    for task in sorted(open_tasks, key=lambda task: (given[task] - shares[task], task))[:left]:
        given[task] += 1
    return given


def _shares(limits: Mapping[str, int], weights: Mapping[str, float], rows: int) -> dict[str, float]:
    """Proportional to the weights; what is beyond a task's limit is dealt among the others."""
    found: dict[str, float] = {}
    open_tasks = dict(weights)
    left = float(rows)
    while open_tasks:
        total = sum(open_tasks.values())
        full = [
            task for task, weight in open_tasks.items() if left * weight / total >= limits[task]
        ]
        if not full:
            return found | {task: left * weight / total for task, weight in open_tasks.items()}
        for task in full:
            found[task] = float(limits[task])
            left -= limits[task]
            del open_tasks[task]
    return found
