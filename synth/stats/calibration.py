"""A policy's pass rate as a function of one difficulty level, and the level at which it takes a
target.

The rate is a logistic curve that falls with the level; after each round the next one is played
where the curve crosses the target (the adaptive logit design of Wu 1985, "Efficient sequential
designs with binary data", with weak priors so that it exists from the start).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.stats import logistic

ROUND = 40
FIRST_LEVELS = 5
LEVEL_DIGITS = 3
_CENTRE = 0.5
_PRIOR_RATE = (0.0, 2.0)
"""Mean and standard deviation of the logit of the pass rate at the middle level: between 0.02 and
0.98.
"""
_PRIOR_SLOPE = (-3.0, 1.5)
"""Mean and standard deviation of what the logit loses from the easiest level to the hardest."""
_GENTLEST_SLOPE = -0.3
_Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class LevelPlayed:
    """One episode with a verdict, at a level between 0 (easiest) and 1."""

    level: float
    passed: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """logit(pass rate) = `intercept` + `slope` * (level - 0.5); `covariance` of the two: its three
    distinct entries.
    """

    intercept: float
    slope: float
    covariance: tuple[float, float, float]

    def rate(self, level: float) -> float:
        """The expected pass rate."""
        return float(logistic.share(self.intercept + self.slope * (level - _CENTRE)))

    def interval(self, level: float) -> tuple[float, float]:
        """The central 95 % of the pass rate (normal on the logit)."""
        at, (own, joint, of_slope) = level - _CENTRE, self.covariance
        logit = self.intercept + self.slope * at
        half = _Z95 * math.sqrt(own + 2 * at * joint + at * at * of_slope)
        low, high = logistic.share(np.array([logit - half, logit + half]))

        return float(low), float(high)

    def crossing(self, target: float) -> float:
        """The level from 0 to 1 where the rate takes the target, or the nearest."""
        if not 0 < target < 1:
            return 0.0 if target >= 1 else 1.0
        level = _CENTRE + (math.log(target / (1 - target)) - self.intercept) / self.slope
        return min(1.0, max(0.0, level))


def fitted(played: Sequence[LevelPlayed]) -> Curve:
    """The most probable curve, and the covariance of its two numbers."""
    means, deviations = np.array([_PRIOR_RATE, _PRIOR_SLOPE]).T
    precision = deviations**-2
    design = np.array([[1.0, episode.level - _CENTRE] for episode in played]).reshape(-1, 2)
    passed = np.array([float(episode.passed) for episode in played])
    weights = logistic.fitted(design, passed, precision, means)
    (own, joint), (_, of_slope) = logistic.covariance(design, precision, weights).tolist()
    intercept, slope = weights.tolist()

    return Curve(intercept, min(slope, _GENTLEST_SLOPE), (own, joint, of_slope))


def round_levels(
    number: int, played: Sequence[LevelPlayed], target: float, episodes: int
) -> list[tuple[float, int]]:
    """Round `number` of an experiment of `episodes` in all: (level, how many episodes there), empty
    after the last round.

    Round 0 is spread from the easiest level to the hardest; each later one is played where the
    curve through `played` crosses the target.
    """
    size = min(ROUND, episodes - number * ROUND)
    if size <= 0:
        return []
    if number:
        return [(round(fitted(played).crossing(target), LEVEL_DIGITS), size)]

    counts = [size // FIRST_LEVELS + (at < size % FIRST_LEVELS) for at in range(FIRST_LEVELS)]
    return [(at / (FIRST_LEVELS - 1), count) for at, count in enumerate(counts)]
