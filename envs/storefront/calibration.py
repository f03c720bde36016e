"""Dials set for a given policy: tasks that it solves as often as was asked for, found in no more than 200 episodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envs.storefront.goals import make_tasks
from schemas.errors import ConfigError
from schemas.task import Task

MOST_EPISODES = 200
LEVELS = 5
_OPERATIONS = ((1, 1), (1, 2), (1, 4), (2, 5), (3, 6), (4, 6), (5, 6), (6, 6))
"""From the easiest level to the hardest."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The level that was found and its settings; `pass_rate` is what the fit expects there, from `episodes` episodes."""

    level: float
    settings: Mapping[str, Any]
    pass_rate: float
    episodes: int


def settings_at(level: float) -> dict[str, Any]:
    """All dials as one number between 0 (easiest) and 1: requests per task, twists, misleading texts, and words that fit several orders."""
    return {
        "operations": _OPERATIONS[min(int(level * len(_OPERATIONS)), len(_OPERATIONS) - 1)],
        "mix": {
            "feasible": 1 - 0.7 * level,
            "refused": 0.5 * level,
            "ambiguous": 0.4 * level,
            "conditional": 0.3 * level,
            "stale": 0.3 * level,
            "done": 0.1 * level,
        },
        "description_share": 0.7 * level,
        "relation_share": 0.3 * level,
        "missing": 0.5 * level,
        "changes_of_mind": 0.6 * level,
        "false_claims": level,
        "pressure": level,
        "injections": 0.5 * level,
        "reticence": 0.5 * level,
        "transient_rate": 0.05 * level,
        "page_size": 5 if level < 0.5 else 3,
    }


def calibrated(
    passes: Callable[[Task], bool], target_pass_rate: float, *, seed: int, settings: Mapping[str, Any] | None = None, episodes: int = 200
) -> Calibration:
    """The level at which a policy passes about this share.

    `passes` plays one episode; `settings` that are given stay as they are at every level. Half of the episodes are spread over five
    levels; a falling line through their outcomes, by least squares, crosses the target at a level where the other half is played; the
    line through all outcomes gives the answer. Where even the hardest level is too easy, or the easiest too hard, that level is the
    answer. The standard error of the pass rate is about `sqrt(0.25 / episodes)`, 0.035 at 200. Raises `ConfigError` for a target
    outside of 0..1, or for fewer than 10 or more than 200 episodes.
    """
    if not 0 <= target_pass_rate <= 1 or not 2 * LEVELS <= episodes <= MOST_EPISODES:
        raise ConfigError(
            f"target_pass_rate {target_pass_rate} must lie in 0..1, and episodes {episodes} in {2 * LEVELS}..{MOST_EPISODES}: change them"
        )
    fixed = dict(settings or {})
    each = episodes // (2 * LEVELS)
    outcomes: list[tuple[float, bool]] = []

    def play(level: float, count: int, at: int) -> None:
        outcomes.extend((level, passes(task)) for task in make_tasks({**settings_at(level), **fixed}, seed + at, count))

    for at in range(LEVELS):
        play(at / (LEVELS - 1), each, at)
    play(_crossing(falling_line(outcomes), target_pass_rate), episodes - LEVELS * each, LEVELS)
    line = falling_line(outcomes)
    level = _crossing(line, target_pass_rate)
    return Calibration(level, {**settings_at(level), **fixed}, line[0] + line[1] * level, len(outcomes))


def falling_line(outcomes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope of the least-squares line through (level, outcome) whose slope is not above 0."""
    count = len(outcomes)
    middle, mean = sum(level for level, _ in outcomes) / count, sum(outcome for _, outcome in outcomes) / count
    spread = sum((level - middle) ** 2 for level, _ in outcomes)
    slope = min(0.0, sum((level - middle) * (outcome - mean) for level, outcome in outcomes) / spread) if spread else 0.0
    return mean - slope * middle, slope


def _crossing(line: tuple[float, float], target: float) -> float:
    """The level from 0 to 1 where the line takes the target, or the nearest."""
    intercept, slope = line
    if slope == 0:
        return 1.0 if intercept > target else 0.0
    return min(1.0, max(0.0, (target - intercept) / slope))
