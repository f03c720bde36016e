"""What ranks say: how well a score tells two classes apart, and how two scores agree."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LEAST = 3
"""Pairs below which a correlation of ranks says nothing."""


def auc(good: npt.ArrayLike, bad: npt.ArrayLike) -> float:
    """P(a good one scores higher than a bad one), ties half: the area under the ROC curve.

    By searching each good score among the sorted bad ones, in O(n log n). Both sides must have at
    least one score.
    """
    ones, others = np.asarray(good, np.float64), np.sort(np.asarray(bad, np.float64))
    below = np.searchsorted(others, ones, "left").sum()
    up_to = np.searchsorted(others, ones, "right").sum()
    return float((below + up_to) / (2 * len(ones) * len(others)))


def spearman(left: Sequence[float | None], right: Sequence[float | None]) -> float | None:
    """Pearson's correlation of the ranks, ties sharing their mean rank, over the pairs that are
    known on both sides; None below 3 of them and where one side does not vary.
    """
    import polars as pl  # scipy.stats takes two seconds to import

    pairs = pl.DataFrame({"left": left, "right": right}, strict=False).drop_nulls()
    if len(pairs) < LEAST or min(pairs["left"].n_unique(), pairs["right"].n_unique()) < 2:
        return None

    found: float = pairs.select(pl.corr("left", "right", method="spearman")).item()
    return found
