"""What a stage may call confirmed: worlds in which no act matters, and worlds with real effects,
with their expectations worked out by playing out the rule (`sequences`).
"""

from functools import cache, lru_cache
from math import comb

import numpy as np
import pytest

from synth.stats.discoveries import (
    FALSE_ACCEPT,
    Discoveries,
    StateTests,
    any_false_accept,
    at_least,
    discoveries,
)
from tests.synth.stats.sequences import chance, controls, ways_against


@lru_cache
def acceptance(own: float, other: float) -> tuple[tuple[float, float], ...]:
    """(probability, P(a test is accepted)) by control: the act `other` against the own one."""
    return tuple(
        (
            chance(control, own),
            sum(chance(bits, other) for bits, accepted in ways_against(control) if accepted),
        )
        for control in controls()
    )


def accepted_at_a_state(own: float, other: float, tests: int) -> list[float]:
    """P(so many of a state's tests are accepted), which share the continuations of the own act."""
    found = np.zeros(tests + 1)
    for weight, accept in acceptance(own, other):
        found += [
            weight * comb(tests, k) * accept**k * (1 - accept) ** (tests - k)
            for k in range(tests + 1)
        ]
    return list(found)


def confirmed(states: int, tests: int, *, effects: int = 0) -> tuple[float, float]:
    """(expected confirmed null tests, expected confirmed effects) in a world with so many null
    states at .5, and `effects` states more with one test of .9 against .1 each.
    """
    null, real = accepted_at_a_state(0.5, 0.5, tests), accepted_at_a_state(0.1, 0.9, 1)[1]
    # by (null states that are hit, null tests accepted); many of both are too unlikely to count
    most = min(states, 12)
    grid = np.zeros((most + 2, most * tests + 1))
    grid[0, 0] = 1
    for _ in range(states):
        grown = grid * null[0]
        for k in range(1, tests + 1):
            grown[1:, k:] += grid[:-1, :-k] * null[k]
        grid = grown
    of_null = of_real = 0.0
    for hit, accepted in zip(*np.nonzero(grid > 1e-12), strict=True):
        for r in range(effects + 1):
            weight = grid[hit, accepted] * comb(effects, r) * real**r * (1 - real) ** (effects - r)
            if weight > 1e-12 and not _found(states, tests, hit, accepted, effects, r).weak:
                of_null += weight * accepted
                of_real += weight * r
    return of_null, of_real


@cache
def _found(
    states: int, tests: int, hit: int, accepted: int, effects: int, real: int
) -> Discoveries:
    """What the stage is told."""
    each = [0] * states
    for at in range(accepted):  # at least one at each state that is hit
        each[at % hit] += 1
    found = [StateTests(tests, count) for count in each]
    return discoveries([*found, *(StateTests(1, int(at < real)) for at in range(effects))])


def test_the_bound_is_the_worst_share_of_null_tests_that_the_rule_accepts() -> None:
    by_rate = {
        rate: sum(weight * accept for weight, accept in acceptance(rate, rate))
        for rate in (0.3, 0.4, 0.45, 0.49, 0.5, 0.51, 0.55, 0.6, 0.7)
    }
    assert max(by_rate, key=by_rate.__getitem__) == 0.5
    assert by_rate[0.5] == pytest.approx(FALSE_ACCEPT, abs=5e-7)


@pytest.mark.parametrize("tests", [1, 2, 4])
def test_of_tests_that_share_a_control_some_are_accepted_as_often_as_played_out(
    tests: int,
) -> None:
    worst = max(1 - accepted_at_a_state(rate, rate, tests)[0] for rate in (0.45, 0.5, 0.55))
    assert worst <= any_false_accept(tests) <= 1.03 * worst
    assert any_false_accept(tests) <= tests * FALSE_ACCEPT + 1e-6


@pytest.mark.parametrize("tests", [8, 16, 32, 64, 144])
@pytest.mark.parametrize("at_one_state", [1, 2, 4])
def test_twenty_worlds_in_which_no_act_matters_confirm_one_step_at_most(
    tests: int, at_one_state: int
) -> None:
    of_null, _ = confirmed(tests // at_one_state, at_one_state)
    assert 0 < 20 * of_null <= 1


def test_the_share_of_false_ones_alone_would_confirm_steps_in_null_worlds() -> None:
    """Sixteen null tests: one accepted would be enough, which happens in 18 % of the worlds."""
    one = discoveries([StateTests(1, 1), *[StateTests(1, 0)] * 15])
    assert one.false_share == pytest.approx(16 * FALSE_ACCEPT)
    assert one.false_share < 0.2
    assert one.chance == pytest.approx(1 - (1 - FALSE_ACCEPT) ** 16, rel=1e-4)
    assert one.weak


def test_a_world_with_thirty_real_effects_among_180_tests_keeps_them() -> None:
    of_null, of_real = confirmed(150, 1, effects=30)
    assert 26 < of_real < 27, "89 % of 30"
    assert of_null == pytest.approx(150 * FALSE_ACCEPT, rel=1e-4), "6 % of what is confirmed"
    of_null, of_real = confirmed(75, 2, effects=30)
    assert 26 < of_real < 27, "tests that share a control do not hide them"


@pytest.mark.parametrize(("tests", "needed"), [(8, 2), (16, 3), (64, 4), (100, 7), (180, 11)])
def test_so_many_must_be_accepted(tests: int, needed: int) -> None:
    def weak(accepted: int) -> bool:
        ones = [StateTests(1, int(at < accepted)) for at in range(tests)]
        return discoveries(ones).weak

    assert [weak(count) for count in range(1, needed + 1)] == [True] * (needed - 1) + [False]


def test_the_tail_of_unlike_events_is_that_of_the_sum_over_all_subsets() -> None:
    # two coins and one event of .1: none .225, one .25 x .1 + .5 x .9 = .475
    assert at_least(0, {0.5: 2, 0.1: 1}) == 1
    assert at_least(1, {0.5: 2, 0.1: 1}) == pytest.approx(0.775)
    assert at_least(2, {0.5: 2, 0.1: 1}) == pytest.approx(0.3)
    assert at_least(3, {0.5: 2, 0.1: 1}) == pytest.approx(0.025)
    assert at_least(4, {0.5: 2, 0.1: 1}) == 0
    assert at_least(1, {}) == 0


def test_where_nothing_was_tested_or_accepted_there_is_nothing_to_be_weak() -> None:
    assert not discoveries([]).alarm
    none = discoveries([StateTests(2, 0)] * 10, 0, 5)
    assert (none.false_share, none.chance, none.control_chance) == (None, 1, 1)


def test_more_accepted_than_tested_is_an_error() -> None:
    with pytest.raises(ValueError, match="more accepted"):
        discoveries([StateTests(1, 2)])
