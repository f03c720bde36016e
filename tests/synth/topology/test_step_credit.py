"""Step credit of groups of trials: worked out by hand from the published formulas."""

import itertools
from statistics import stdev

import pytest

from synth.topology.step_credit import Path, alone, distances, gigpo, graphgpo, salt


def path(states: str, success: bool, invalid: int = 0) -> Path:
    actions = tuple(f"{a}{b}" for a, b in itertools.pairwise(states))
    return Path(
        tuple(states), actions, (0.0,) * (len(actions) - 1) + (float(success),), success, invalid
    )


def test_gigpo_compares_discounted_returns_of_steps_from_the_same_state() -> None:
    one, other = gigpo([path("ABC", True), path("ABD", False)], gamma=0.5)
    # returns: success 0.5, 1; failure 0, 0. At A: 0.5 and 0, mean 0.25; at B: 1 and 0, mean 0.5.
    # Episodes 1 and 0, mean 0.5
    assert one.steps == pytest.approx((0.25, 0.5))
    assert other.steps == pytest.approx((-0.25, -0.5))
    assert (one.episode, other.episode) == (0.5, -0.5)
    assert one.groups == (2, 2)


def test_gigpo_gives_a_state_without_company_nothing_and_a_single_trial_its_return() -> None:
    one, other = gigpo([path("AB", True), path("CD", False)])
    assert (one.steps, other.steps) == ((0.0,), (0.0,))
    (alone,) = gigpo([path("AB", True)])
    assert (alone.episode, alone.steps) == (1.0, (0.0,))


def test_gigpo_divides_by_the_sample_deviation_where_asked() -> None:
    one, _, _ = gigpo([path("AB", True), path("AC", False), path("AC", False)], norm="mean_std")
    deviation = stdev([1.0, 0.0, 0.0])
    assert one.steps[0] == pytest.approx((1 - 1 / 3) / (deviation + 1e-6))
    assert one.episode == pytest.approx((1 - 1 / 3) / (deviation + 1e-6))


def test_distances_are_fewest_steps_to_success_and_unreachable_states_one_further() -> None:
    found = distances([path("ABC", True), path("ADBX", False)])
    # the last step of the success leads to SUCCESS in place of C: B is 1 away, A 2, D 2 (over B); C
    # and X lead nowhere: 3
    assert dict(found) == {"A": 2, "B": 1, "C": 3, "D": 2, "X": 3, "SUCCESS": 0}
    assert distances([path("AB", False)]) == {}


def test_graphgpo_standardises_ten_omega_to_the_distance_over_steps_from_the_same_state() -> None:
    good, bad = graphgpo([path("ABC", True), path("AX", False, invalid=2)])
    # from A: to B (distance 1): 10 * .1 = 1; to X (unreachable, 2 + 1 = 3): .01
    raw = [1.0, 0.01]
    spread = stdev(raw) + 1e-6
    middle = sum(raw) / 2
    assert good.steps == pytest.approx(((raw[0] - middle) / spread, 0.0))
    assert bad.steps == pytest.approx(((raw[1] - middle) / spread,))
    returns = [10.0, -0.2]
    assert good.episode == pytest.approx((10.0 - 4.9) / (stdev(returns) + 1e-6))


def test_graphgpo_says_nothing_about_steps_without_a_success() -> None:
    found = graphgpo([path("AB", False), path("AC", False)])
    assert [credit.steps for credit in found] == [(0.0,), (0.0,)]
    assert [credit.episode for credit in found] == [0.0, 0.0]


def test_salt_gives_shared_steps_the_mean_of_their_trials_and_others_their_own() -> None:
    one, other = salt([path("ABC", True), path("ABD", False)])
    assert one.steps == (0.0, 0.5)
    assert other.steps == (0.0, -0.5)
    assert one.groups == (2, 1)


def test_a_broken_chain_is_refused() -> None:
    with pytest.raises(ValueError, match="the chain is broken"):
        Path(("A",), ("x",), (0.0,), True)


def test_by_the_papers_convention_every_step_costs_one_more() -> None:
    good, bad = graphgpo([path("ABC", True), path("AX", False)], convention="paper")
    # from A: to B (distance 1, and the step itself): 10 * .1^2 = .1; to X (3 and one): .001. The
    # deviation of both is .099 / sqrt 2
    deviation = 0.099 / 2**0.5
    assert good.steps == pytest.approx((0.0495 / (deviation + 1e-6), 0.0))
    assert bad.steps == pytest.approx((-0.0495 / (deviation + 1e-6),))
    reference = 0.99 / 2 / (0.99 / 2**0.5 + 1e-6)
    assert good.steps[0] == pytest.approx(reference, abs=1e-4)
    assert good.steps[0] != reference, "the 1e-6 weighs ten times as much"


def test_steps_that_nothing_stands_beside_are_counted() -> None:
    # A is left twice; B, and C of the other trial, once each
    assert alone(gigpo([path("ABD", True), path("ACD", False)])) == 0.5
    assert alone([]) is None
