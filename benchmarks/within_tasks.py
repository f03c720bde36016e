"""How well a score ranks the trials of a task, and how far two success rates lie apart: what
measurements ask, and no run.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

import msgspec
import numpy as np

from synth.stats.intervals import wilson
from synth.stats.ranks import auc
from synth.topology.graph import TaskGraph
from synth.topology.potential import pair_of

Scored = Sequence[tuple[float, bool]]
"""(score, success) of the trials of one task."""


class RankAgreement(msgspec.Struct, frozen=True):
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
    good = [score for score, success in trials if success]
    bad = [score for score, success in trials if not success]
    return (auc(good, bad), len(good) * len(bad)) if good and bad else None


def within_tasks(
    by_task: Mapping[str, Scored], *, resamples: int = 2000, seed: int = 0
) -> RankAgreement | None:
    """None where no task has both outcomes."""
    return over_tasks(
        [value for trials in by_task.values() if (value := concordance(trials)) is not None],
        resamples=resamples,
        seed=seed,
    )


def of_pairs(
    by_task: Mapping[str, Sequence[tuple[float, float]]], *, resamples: int = 2000, seed: int = 0
) -> RankAgreement | None:
    """The same from pairs (score of the success, score of the failure) that were each scored for
    the comparison with the other.
    """
    found = [
        (sum((good > bad) + 0.5 * (good == bad) for good, bad in pairs) / len(pairs), len(pairs))
        for pairs in by_task.values()
        if pairs
    ]
    return over_tasks(found, resamples=resamples, seed=seed)


def over_tasks(
    found: Sequence[tuple[float, int]], *, resamples: int, seed: int
) -> RankAgreement | None:
    """The mean of the tasks' concordances with its interval; None without any."""
    if not found:
        return None
    values = np.array([value for value, _ in found])
    drawn = np.random.default_rng(seed).integers(0, len(values), (resamples, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    return RankAgreement(
        float(values.mean()), float(low), float(high), len(values), sum(pairs for _, pairs in found)
    )


def pairwise(graph: TaskGraph, turns: int | None = None) -> list[tuple[float, float]]:
    """For each success and failure of the task, both mean potentials by the same donors: all trials
    but those two. A pair that is not known on both sides is (0, 0), a tie: it counts a half.

    Comparing trials by `potentials` favours failures where there are few trials, for each of the
    two is a donor of the other; with both left out, noise ranks them at .5 whatever the number of
    trials (leave-pair-out, Airola et al. 2011).
    """
    pairs = (
        pair_of(graph, good, bad, turns)
        for good in graph.trials
        if good.success
        for bad in graph.trials
        if not bad.success
    )
    return [
        (0.0, 0.0)
        if one.of_first is None or one.of_second is None
        else (one.of_first, one.of_second)
        for one in pairs
    ]


def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int) -> tuple[float, float]:
    """The 95 % interval of the difference of two independent rates, a - b (Newcombe 1998, method
    10).
    """
    a, b = successes_a / n_a, successes_b / n_b
    (low_a, high_a), (low_b, high_b) = wilson(successes_a, n_a), wilson(successes_b, n_b)
    below = sqrt((a - low_a) ** 2 + (high_b - b) ** 2)
    above = sqrt((high_a - a) ** 2 + (b - low_b) ** 2)
    return a - b - below, a - b + above
