"""The sequential rule against an enumeration of its own: every sequence of outcomes, weighed."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.within_tasks import newcombe
from synth.stats.intervals import clopper_pearson, wilson
from synth.stats.sequential import (
    MOST,
    ROUND,
    control_count,
    decide,
    decide_despite,
)

LOOKS = (2, 4, 6, 8)
ACCEPTED_AT = {4: {4}, 6: {5, 6}, 8: {5, 6, 7, 8}}
STOPPED_AT = {2: {-2, -1, 0}, 4: set(range(-4, 2)), 6: set(range(-6, 3)), 8: set(range(-8, 5))}
"""Gaps, as the table of the rule lists them."""


def enumerated(p_good: float, p_bad: float) -> tuple[float, float]:
    """(probability of acceptance, expected continuations of both sides) of the rule as the table
    has it, by its tree of rounds.
    """
    weights = {2: (1 - p_good) ** 2, 1: 2 * p_good * (1 - p_good), 0: p_good**2}
    good_rounds = {2 - misses: weight for misses, weight in weights.items()}
    bad_rounds = {0: (1 - p_bad) ** 2, 1: 2 * p_bad * (1 - p_bad), 2: p_bad**2}
    alive, accepted, cost = {0: 1.0}, 0.0, 0.0
    for m in LOOKS:
        reached: dict[int, float] = {}
        for (gap, weight), (good, of_good), (bad, of_bad) in product(
            alive.items(), good_rounds.items(), bad_rounds.items()
        ):
            reached[gap + good - bad] = (
                reached.get(gap + good - bad, 0.0) + weight * of_good * of_bad
            )
        cost += 4 * sum(alive.values())
        accepted += sum(weight for gap, weight in reached.items() if gap in ACCEPTED_AT.get(m, ()))
        alive = {
            gap: weight
            for gap, weight in reached.items()
            if gap not in ACCEPTED_AT.get(m, set()) | STOPPED_AT[m]
        }
    assert not alive
    return accepted, cost


def by_decide(p_good: float, p_bad: float) -> float:
    """The acceptance probability of `decide`, by counts of successes on each side."""
    steps = {p: {0: (1 - p) ** 2, 1: 2 * p * (1 - p), 2: p * p} for p in (p_good, p_bad)}
    alive, accepted = {(0, 0): 1.0}, 0.0
    for m in range(ROUND, MOST + 1, ROUND):
        after: dict[tuple[int, int], float] = {}
        for ((good, bad), weight), (more_good, x), (more_bad, y) in product(
            alive.items(), steps[p_good].items(), steps[p_bad].items()
        ):
            key = (good + more_good, bad + more_bad)
            after[key] = after.get(key, 0.0) + weight * x * y
        verdicts = {counts: decide(*counts, m) for counts in after}
        accepted += sum(weight for counts, weight in after.items() if verdicts[counts] == "accept")
        alive = {counts: weight for counts, weight in after.items() if verdicts[counts] == "more"}
    assert not alive
    return accepted


@pytest.mark.parametrize(
    ("m", "gap", "verdict"),
    [
        (2, 0, "stop"),
        (2, 1, "more"),
        (2, 2, "more"),
        (4, 4, "accept"),
        (4, 3, "more"),
        (4, 2, "more"),
        (4, 1, "stop"),
        (6, 6, "accept"),
        (6, 5, "accept"),
        (6, 4, "more"),
        (6, 3, "more"),
        (6, 2, "stop"),
        (8, 5, "accept"),
        (8, 4, "stop"),
    ],
)
def test_the_rule_decides_by_the_gap_as_its_table_says(m: int, gap: int, verdict: str) -> None:
    for bad in range(m - gap + 1):
        assert decide(gap + bad, bad, m) == verdict


@pytest.mark.parametrize(
    ("good", "bad", "m"), [(1, 0, 3), (3, 0, 2), (-1, 0, 4), (0, 9, 8), (0, 0, 10)]
)
def test_counts_that_no_test_comes_to_are_errors(good: int, bad: int, m: int) -> None:
    with pytest.raises(ValueError, match=r"of .* per side"):
        decide(good, bad, m)


@pytest.mark.parametrize(
    ("good", "bad", "power"),
    [(0.9, 0.1, 0.89), (0.8, 0.2, 0.55), (0.7, 0.3, 0.23), (1.0, 0.0, 1.0)],
)
def test_power_is_what_the_simulation_said(good: float, bad: float, power: float) -> None:
    assert enumerated(good, bad)[0] == pytest.approx(power, abs=0.006)
    assert by_decide(good, bad) == pytest.approx(enumerated(good, bad)[0])


def test_without_an_effect_it_accepts_at_most_one_in_eighty_after_five_to_six_continuations() -> (
    None
):
    rates = [number / 100 for number in range(101)]
    false_keep = [by_decide(rate, rate) for rate in rates]
    assert max(false_keep) == pytest.approx(0.012, abs=0.0006)
    assert max(false_keep) < 1 / 80
    costs = [enumerated(rate, rate)[1] for rate in rates]
    assert max(costs) < 6
    assert 5 < enumerated(0.5, 0.5)[1] < 6


def test_a_certain_flip_costs_eight_continuations_and_a_true_effect_eleven_to_twelve() -> None:
    assert enumerated(1.0, 0.0) == (1.0, 8.0)
    assert enumerated(0.9, 0.1)[1] == pytest.approx(11, abs=1)


@given(st.sampled_from(LOOKS), st.data())
def test_a_verdict_never_hangs_on_what_faults_took(m: int, data: st.DataObject) -> None:
    """Accepted in spite of losses means accepted whatever the lost continuations would have come
    to.
    """
    lost_good, lost_bad = data.draw(st.integers(0, m)), data.draw(st.integers(0, m))
    good, bad = data.draw(st.integers(0, m - lost_good)), data.draw(st.integers(0, m - lost_bad))
    if decide_despite(good, bad, lost_bad, m) == "accept":
        assert all(
            decide(good + g, bad + b, m) == "accept"
            for g, b in product(range(lost_good + 1), range(lost_bad + 1))
        )


def test_a_control_stands_beside_ten_tests_or_more() -> None:
    assert [control_count(tests, 0.05) for tests in (0, 9, 10, 40, 100, 1000)] == [
        0,
        0,
        1,
        2,
        5,
        50,
    ]


def test_intervals_are_those_of_the_textbooks() -> None:
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(0.3085, abs=1e-4))
    assert clopper_pearson(1, 10) == (
        pytest.approx(0.0025, abs=1e-4),
        pytest.approx(0.4450, abs=1e-4),
    )
    assert clopper_pearson(10, 10)[0] == pytest.approx(0.6915, abs=1e-4)
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert wilson(81, 263) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))
    assert newcombe(56, 70, 48, 80) == (
        pytest.approx(0.0524, abs=1e-4),
        pytest.approx(0.3339, abs=1e-4),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("successes", "n"), [(600, 1100), (3, 1500), (1, 2)])
@pytest.mark.nightly
def test_the_exact_interval_keeps_its_definition_for_more_trials_than_floats_can_count(
    successes: int, n: int
) -> None:
    """At the lower end P(at least that many) is 2.5 %, at the upper end P(at most that many)."""

    def share(rate: float, counts: Iterable[int]) -> float:
        p = Fraction(rate)
        return float(sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in counts))

    low, high = clopper_pearson(successes, n)
    assert 1 - share(low, range(successes)) == pytest.approx(0.025, rel=1e-9)
    assert share(high, range(successes + 1)) == pytest.approx(0.025, rel=1e-9)


def test_the_exact_interval_of_all_or_none_of_very_many_is_a_root() -> None:
    assert clopper_pearson(0, 10**6) == (0.0, pytest.approx(1 - 0.025**1e-6, rel=1e-9))
    assert clopper_pearson(10**6, 10**6) == (pytest.approx(0.025**1e-6, rel=1e-9), 1.0)
