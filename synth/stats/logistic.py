"""Logistic regression with normal priors on its weights: the most probable weights, by scipy."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def fitted(design: Array, labels: Array, precision: Array, mean: Array | float = 0.0) -> Array:
    """Weights that minimise the summed log-loss + sum(precision (w - mean)^2) / 2 (L-BFGS).

    `design`: (n, weights); `labels`: (n,) of 0 and 1; `precision`: 1 / variance of each weight's
    prior, 0 for none; `mean`: the priors' means.
    """
    from scipy.optimize import minimize

    def loss(weights: Array) -> tuple[float, Array]:
        odds, off = design @ weights, weights - mean
        value = np.logaddexp(0.0, odds).sum() - labels @ odds + precision @ (off * off) / 2
        return float(value), design.T @ (share(odds) - labels) + precision * off

    start = np.zeros(len(precision)) + mean
    found: Any = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
    )
    weights: Array = found.x

    return weights


def covariance(design: Array, precision: Array, weights: Array) -> Array:
    """[weights, weights], of the weights: the inverse curvature of the loss there (Laplace)."""
    rate = share(design @ weights)
    curvature: Array = (design.T * (rate * (1 - rate))) @ design + np.diag(precision)
    return np.linalg.inv(curvature).astype(np.float64)


def share(odds: Array | float) -> Array:
    """The share that log-odds stand for."""
    from scipy.special import expit

    found: Array = expit(odds)
    return found
