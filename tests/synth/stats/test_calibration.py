"""The falling curve of pass rates: what it is without episodes, what it becomes with them, and
where the next ones are played.
"""

import math
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.stats.calibration import LevelPlayed, fitted, round_levels

episodes = st.lists(st.builds(LevelPlayed, st.floats(0, 1), st.booleans()), max_size=60)


def test_without_episodes_the_curve_is_the_prior() -> None:
    curve = fitted([])
    assert curve.rate(0.5) == pytest.approx(0.5)
    assert curve.crossing(0.6) == pytest.approx(0.5 - math.log(1.5) / 3)
    assert curve.interval(0.5) == pytest.approx(
        (1 / (1 + math.exp(3.92)), 1 / (1 + math.exp(-3.92))), abs=1e-4
    )


def test_as_many_passes_below_as_failures_above_cross_in_the_middle() -> None:
    played = [LevelPlayed(0.2, True)] * 20 + [LevelPlayed(0.8, False)] * 20
    assert fitted(played).crossing(0.5) == pytest.approx(0.5)


def test_the_interval_at_one_level_is_that_of_its_episodes_where_there_are_many() -> None:
    played = [LevelPlayed(0.5, at < 100) for at in range(200)]
    low, high = fitted(played).interval(0.5)
    half = 1.96 / math.sqrt(
        200 * 0.25 + 0.25
    )  # on the logit: information 200 p (1 - p) and that of the prior
    assert (low, high) == pytest.approx(
        (1 / (1 + math.exp(half)), 1 / (1 + math.exp(-half))), abs=1e-3
    )


@pytest.mark.parametrize(("passed", "end"), [(True, 1.0), (False, 0.0)])
def test_a_target_that_no_level_reaches_gives_the_nearest_end(passed: bool, end: float) -> None:
    played = [LevelPlayed(at / 100, passed) for at in range(101)]
    assert fitted(played).crossing(0.5) == end


@pytest.mark.slow
@given(episodes, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_the_rate_never_rises_and_a_higher_target_lies_at_an_easier_level(
    played: list[LevelPlayed], one: float, other: float
) -> None:
    curve = fitted(played)
    assert curve.rate(0) >= curve.rate(0.5) >= curve.rate(1)
    low, high = curve.interval(0.3)
    assert 0 <= low <= curve.rate(0.3) <= high <= 1
    assert curve.crossing(min(one, other)) >= curve.crossing(max(one, other))


def test_the_first_round_is_spread_and_later_ones_are_played_at_the_crossing() -> None:
    assert round_levels(0, [], 0.5, 200) == [(0.0, 8), (0.25, 8), (0.5, 8), (0.75, 8), (1.0, 8)]
    played = [LevelPlayed(0.2, True)] * 20 + [LevelPlayed(0.8, False)] * 20
    assert round_levels(1, played, 0.5, 200) == [(0.5, 40)]
    assert [
        sum(size for _, size in round_levels(number, played, 0.5, 110)) for number in range(4)
    ] == [40, 40, 30, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [0.5, *(pytest.param(rate, marks=pytest.mark.nightly) for rate in (0.3, 0.7))],
)
def test_two_hundred_episodes_find_the_rate_within_one_and_a_half_times_the_error_of_counting(
    target: float,
) -> None:
    rng = Random(17)

    def true_rate(
        level: float,
    ) -> float:  # no logistic curve: falls to the square, from 0.95 to 0.15
        return 0.95 - 0.8 * level**2

    errors, covered = [], []
    for _ in range(60):
        played: list[LevelPlayed] = []
        number = 0
        while levels := round_levels(number, played, target, 200):
            played += [
                LevelPlayed(level, rng.random() < true_rate(level))
                for level, size in levels
                for _ in range(size)
            ]
            number += 1
        curve = fitted(played)
        level = curve.crossing(target)
        low, high = curve.interval(level)
        errors.append(true_rate(level) - target)
        covered.append(low <= true_rate(level) <= high)
    assert abs(mean(errors)) <= 0.02
    assert math.sqrt(mean(error**2 for error in errors)) <= 1.5 * math.sqrt(
        target * (1 - target) / 200
    )
    assert mean(covered) >= 0.88
