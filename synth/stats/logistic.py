"""Logistic regression with an L2 penalty, by accelerated gradient descent: small enough that no
library is needed for it.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
STEPS = 200


def fitted(rows: Array, labels: Array, penalty: float = 1e-3) -> Array:
    """Weights (features + 1, the last the intercept) that minimise mean log-loss + penalty/2 |w|^2
    (Nesterov 1983).

    `rows`: (n, features); `labels`: (n,) of 0 and 1.
    """
    design = np.hstack([rows, np.ones((len(rows), 1))])
    # the Hessian is at most X'X / 4n: its trace bounds its largest eigenvalue
    step = 1 / (np.einsum("ij,ij->", design, design) / (4 * len(rows)) + penalty)
    weights = ahead = np.zeros(design.shape[1])
    for number in range(STEPS):
        error = _sigmoid(design @ ahead) - labels
        slope = design.T @ error / len(rows) + penalty * np.append(ahead[:-1], 0.0)
        later = ahead - step * slope
        ahead = later + number / (number + 3) * (later - weights)
        weights = later
    return weights


def scores(weights: Array, rows: Array) -> Array:
    """Log-odds of label 1."""
    found: Array = rows @ weights[:-1] + weights[-1]
    return found


def auc(values: Array, labels: Array) -> float:
    """P(a row of label 1 scores higher than one of label 0), ties half."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    for value, count in zip(*np.unique(values, return_counts=True), strict=True):
        if count > 1:
            ranks[values == value] = ranks[values == value].mean()
    ones = labels == 1
    n, m = int(ones.sum()), int((~ones).sum())
    return float((ranks[ones].sum() - n * (n + 1) / 2) / (n * m))


def _sigmoid(values: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-np.clip(values, -30, 30)))
    return found
