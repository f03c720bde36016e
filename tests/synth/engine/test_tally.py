"""What a stage has come to so far, counted while it runs."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.engine.tally import RunCounts, Spread
from synth.schemas.trajectory import Usage
from tests.trajectories import make_trajectory


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=50))
def test_the_spread_of_numbers_one_by_one_is_that_of_all_together(values: list[float]) -> None:
    spread = Spread()
    for value in values:
        spread.add(value)
    assert spread.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert spread.standard_error == pytest.approx(
        statistics.stdev(values) / math.sqrt(len(values)), rel=1e-6, abs=1e-6
    )


def test_one_number_says_nothing_about_the_spread() -> None:
    spread = Spread()
    spread.add(3.0)
    assert (spread.mean, spread.standard_error) == (3.0, math.inf)


def test_what_the_cache_gave_and_what_the_user_said_stand_beside_the_tokens() -> None:
    tally = RunCounts()
    tally.turn(Usage(8_000, 1_000, 6_000, 1))
    tally.spoke(Usage(2_000, 500, 0, 1), "user")
    assert (
        tally.line(live=True) == "1 turn, 11.5k tokens (60 % of prompts cached, 2.5k by the user)"
    )


def test_the_users_tokens_of_a_finished_episode_are_counted_once() -> None:
    tally = RunCounts()
    tally.turn(Usage(8_000, 1_000, 0, 1, 0.5))
    tally.spoke(Usage(2_000, 500, 0, 1, 0.25), "user")
    tally.add(
        [
            make_trajectory(
                "a",
                totals=Usage(8_000, 1_000, 0, 1, 0.5),
                user_totals=Usage(2_000, 500, 0, 1, 0.25),
            )
        ]
    )
    assert tally.usage == Usage(10_000, 1_500, 0, 2, 0.75)
    assert (tally.tokens.mean, tally.usd.mean, tally.unpriced) == (11_500, 0.75, 0)


def test_a_model_without_a_price_beside_one_with_a_price_leaves_the_money_unknown() -> None:
    tally = RunCounts()
    tally.add(
        [
            make_trajectory(
                "a", totals=Usage(8_000, 1_000, 0, 1, 0.5), user_totals=Usage(2_000, 500, 0, 1)
            )
        ]
    )
    assert tally.unpriced == 1
