"""Draws by reward: R over the sum of R, the same ones for the same seed, nobody before those who
were rewarded.
"""

from collections import Counter
from itertools import permutations

import pytest

from synth.selection.candidates import draw_rank

REWARDS = {"five": 5.0, "three": 3.0, "two": 2.0}


def order(seed: int, rewards: dict[str, float]) -> tuple[str, ...]:
    return tuple(sorted(rewards, key=lambda name: -draw_rank(seed, name, rewards[name])))


def test_each_place_is_drawn_in_proportion_to_the_rewards_of_those_left() -> None:
    """By hand: five first 5/10, then three 3/5: .3; three first 3/10, then five 5/7: .214; and so
    on. 3 sigma of 4,000 draws are .024.
    """
    found, total = Counter(order(seed, REWARDS) for seed in range(4000)), sum(REWARDS.values())
    for first, second, third in permutations(REWARDS):
        expected = REWARDS[first] / total * REWARDS[second] / (total - REWARDS[first])
        assert found[(first, second, third)] / 4000 == pytest.approx(expected, abs=0.024)


def test_the_same_seed_draws_the_same_and_a_trial_keeps_its_place_whatever_else_is_there() -> None:
    assert [draw_rank(7, name, 4.0) for name in "abc"] == [
        draw_rank(7, name, 4.0) for name in "abc"
    ]
    assert order(7, {name: 4.0 for name in "abc"}) == tuple(
        name for name in order(7, {name: 4.0 for name in "abcd"}) if name != "d"
    )


def test_who_was_not_rewarded_comes_after_all_who_were() -> None:
    assert all(draw_rank(seed, "none", None) < draw_rank(seed, "one", 1.0) for seed in range(50))
