"""How well a score ranks successes before failures, within tasks: what it knows beyond which tasks
are easy.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

Scored = Sequence[tuple[float, bool]]
"""(score, success) of the trials of one task."""


class Ranking(msgspec.Struct, frozen=True):
    """Within-task AUROC, averaged over the tasks that have both outcomes; 95 % interval by
    resampling whole tasks.
    """

    auroc: float
    low: float
    high: float
    tasks: int
    pairs: int


def concordance(trials: Scored) -> tuple[float, int] | None:
    """Share of (success, failure) pairs in which the success has the higher score, ties a half, and
    how many pairs; None without any.
    """
    good = np.array([score for score, success in trials if success])
    bad = np.array([score for score, success in trials if not success])
    if not len(good) or not len(bad):
        return None
    gaps = good[:, None] - bad[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean()), gaps.size


def within_tasks(
    by_task: Mapping[str, Scored], *, resamples: int = 2000, seed: int = 0
) -> Ranking | None:
    """None where no task has both outcomes."""
    return over_tasks(
        [value for trials in by_task.values() if (value := concordance(trials)) is not None],
        resamples=resamples,
        seed=seed,
    )


def of_pairs(
    by_task: Mapping[str, Sequence[tuple[float, float]]], *, resamples: int = 2000, seed: int = 0
) -> Ranking | None:
    """The same from pairs (score of the success, score of the failure) that were each scored for
    the comparison with the other.
    """
    gaps = {
        task: np.array([good - bad for good, bad in pairs])
        for task, pairs in by_task.items()
        if pairs
    }
    found = [(float(((gap > 0) + 0.5 * (gap == 0)).mean()), gap.size) for gap in gaps.values()]
    return over_tasks(found, resamples=resamples, seed=seed)


def over_tasks(found: Sequence[tuple[float, int]], *, resamples: int, seed: int) -> Ranking | None:
    """The mean of the tasks' concordances with its interval; None without any."""
    if not found:
        return None
    values = np.array([value for value, _ in found])
    drawn = np.random.default_rng(seed).integers(0, len(values), (resamples, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    return Ranking(
        float(values.mean()), float(low), float(high), len(values), sum(pairs for _, pairs in found)
    )
