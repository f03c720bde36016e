"""Candidates measured turn by turn in one run, so that a slow minute of the machine hits all of
them.
"""

from collections.abc import Callable, Mapping
from statistics import median


def medians(candidates: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Median measurement by candidate; each round runs every candidate once, in the order given."""
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, measure in candidates.items():
            found[name].append(measure())
    return {name: median(values) for name, values in found.items()}
