"""What ranks say: how well a score tells two classes apart, within tasks or over all, and how two
scores agree.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Scored = Sequence[tuple[float, bool]]
"""(score, success) of the trials of one task."""
LEAST = 3


class RankAgreement(msgspec.Struct, frozen=True):
    """Within-task AUROC, averaged over the tasks that have both outcomes; 95 % interval by
    resampling whole tasks.
    """

    auroc: float
    low: float
    high: float
    tasks: int
    pairs: int


def auc(good: npt.ArrayLike, bad: npt.ArrayLike) -> float:
    """P(a good one scores higher than a bad one), ties half: the area under the ROC curve."""
    ones, others = np.asarray(good, np.float64), np.sort(np.asarray(bad, np.float64))
    below = np.searchsorted(others, ones, "left").sum()
    up_to = np.searchsorted(others, ones, "right").sum()
    return float((below + up_to) / (2 * len(ones) * len(others)))


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's correlation of the ranks, ties sharing their mean rank; None below 3 pairs and
    where one side does not vary.
    """
    if len(left) < LEAST or len(set(left)) < 2 or len(set(right)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(left, right).statistic)


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
