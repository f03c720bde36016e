"""Texts written to be slow are timed in seconds of CPU, each with the goal."""

import time

from benchmarks import hostile_texts
from benchmarks.hostile_texts import seconds


def test_every_text_has_its_seconds_and_its_goal_and_the_growth_has_none() -> None:
    *each, growth = hostile_texts.measure(size=2_000, rounds=1).figures
    assert len(each) == len(hostile_texts.REPEATED)
    assert all(0 < figure.value < 2 and not figure.missed for figure in each)
    assert growth.target is None
    assert growth.value > 0


def test_a_search_that_waits_spends_no_cpu() -> None:
    assert seconds(lambda _: time.sleep(0.2), "", rounds=1) < 0.1


def test_the_faster_of_two_rounds_counts() -> None:
    longest = iter([200_000, 20_000_000, 200_000])
    one = seconds(lambda _: sum(range(next(longest))), "", rounds=1)
    assert seconds(lambda _: sum(range(next(longest))), "", rounds=2) < 20 * one
