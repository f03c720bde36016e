"""Values of acts after tests that stop early: their expectation over every sequence that can
happen is the truth.
"""

from collections.abc import Callable, Iterator
from itertools import product
from math import sqrt

import pytest

from synth.stats.path_counts import arm_count, path_values
from tests.synth.stats.sequences import Bits, chance, controls, ended, ways_against

Played = tuple[float, Bits, tuple[Bits, ...]]
"""A probability, the control's continuations, and those of each tested act."""


def played(own: float, *others: float) -> Iterator[Played]:
    """Everything that can happen; the control is played as long as the longest test."""
    for control in controls():
        each = [ways_against(control) for _ in others]
        for ways in product(*each):
            acts = tuple(bits for bits, _ in ways)
            weight = chance(control, own)
            for bits, rate in zip(acts, others, strict=True):
                weight *= chance(bits, rate)
            yield weight, control[: max(map(len, acts))], acts


def by_paths(control: Bits, acts: tuple[Bits, ...]) -> tuple[float, ...]:
    return path_values(
        arm_count([bool(bit) for bit in control]),
        tuple(arm_count([bool(bit) for bit in bits]) for bits in acts),
    )


def by_shares(control: Bits, acts: tuple[Bits, ...]) -> tuple[float, ...]:
    return tuple(sum(bits) / len(bits) for bits in (control, *acts))


Estimate = Callable[[Bits, tuple[Bits, ...]], tuple[float, ...]]


def means(estimate: Estimate, own: float, *others: float) -> list[float]:
    found = [0.0] * (1 + len(others))
    for weight, control, acts in played(own, *others):
        for at, value in enumerate(estimate(control, acts)):
            found[at] += weight * value
    return found


def rmse(estimate: Estimate, own: float, other: float) -> float:
    """Of the control."""
    return sqrt(
        sum(
            weight * (estimate(control, acts)[0] - own) ** 2
            for weight, control, acts in played(own, other)
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.1, 0.9), (0.3, 0.7), (0.9, 0.2), (0.0, 1.0)])
def test_on_average_values_are_the_truth(rates: tuple[float, float]) -> None:
    assert means(by_paths, *rates) == pytest.approx(list(rates), abs=1e-9)


def test_plain_shares_are_not_and_the_price_is_what_it_was_said_to_be() -> None:
    assert means(by_shares, 0.5, 0.5) == pytest.approx([0.561, 0.439], abs=5e-4)
    assert rmse(by_paths, 0.5, 0.5) == pytest.approx(0.337, abs=1e-3)
    assert rmse(by_shares, 0.5, 0.5) == pytest.approx(0.304, abs=1e-3)
    assert rmse(by_paths, 0.1, 0.9) == pytest.approx(0.161, abs=1e-3)
    assert rmse(by_shares, 0.1, 0.9) == pytest.approx(0.162, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5), (0.3, 0.3, 0.7)])
@pytest.mark.nightly
def test_tests_that_share_a_control_are_counted_together(
    rates: tuple[float, float, float],
) -> None:
    assert means(by_paths, *rates) == pytest.approx(list(rates), abs=1e-9)


def alone(control: Bits, acts: tuple[Bits, ...]) -> tuple[float, ...]:
    """The control counted by the longest of its tests alone."""
    longest = max(acts, key=len)
    return (by_paths(control, (longest,))[0], *(0.0 for _ in acts))


@pytest.mark.slow
@pytest.mark.nightly
def test_a_shared_control_counted_by_its_longest_test_alone_would_be_biased() -> None:
    assert means(alone, 0.5, 0.5, 0.5)[0] < 0.495


def test_a_hand_counted_case() -> None:
    # two against two, stopped at the first look: 1 and 1 can come in 2 x 2 ways, in half of which
    # the first of a side won; 2 against 0 goes on
    assert by_paths((1, 0), ((0, 1),)) == (0.5, 0.5)
    assert by_paths((0, 0), ((0, 0),)) == (0.0, 0.0)
    # accepted at four with 4 against 0: one path
    assert by_paths((0, 0, 0, 0), ((1, 1, 1, 1),)) == (0.0, 1.0)
    # stopped at four with 3 against 2. Rounds of the act 1+2 or 2+1, of the control (after which
    # the gap at two was 1 or more): 1+2 needs control 0+2; 2+1 needs 0+2 or 1+1.
    # ways: (1+2, 0+2): 2; (2+1, 0+2): 2; (2+1, 1+1): 2 x 4 = 8. The act's first one won in 1 of
    # the first 2 and in all others: 11/12; the control's in half of the 8: 4/12
    assert by_paths((0, 0, 1, 1), ((1, 1, 1, 0),)) == pytest.approx((4 / 12, 11 / 12))


@pytest.mark.slow
@pytest.mark.parametrize("lost", [{"own": 0}, {"own": 3}, {"act": 1}, {"own": 1, "act": 2}])
def test_what_faults_took_is_no_evidence(lost: dict[str, int]) -> None:
    """A continuation that is lost whatever it would have come to: the rule counts it against the
    act, the value does not.
    """
    found = [0.0, 0.0]
    own, other = 0.4, 0.6
    for control, act in product(controls(), repeat=2):
        counted = list(control)
        seen = list(act)
        weight = 1.0
        if "own" in lost:
            counted[lost["own"]] = 1
            weight /= 2  # both values of the bit are listed
        if "act" in lost:
            seen[lost["act"]] = 0
            weight /= 2
        kept_own = [bit for at, bit in enumerate(control) if at != lost.get("own")]
        kept_act = [bit for at, bit in enumerate(act) if at != lost.get("act")]
        weight *= chance(kept_own, own) * chance(kept_act, other)
        end = ended(tuple(seen), tuple(counted))
        assert end is not None
        arms = [
            arm_count([None if at == gone else bool(bits[at]) for at in range(end[0])])
            for bits, gone in ((control, lost.get("own")), (act, lost.get("act")))
        ]
        for at, value in enumerate(path_values(arms[0], (arms[1],))):
            found[at] += weight * value
    assert found == pytest.approx([own, other], abs=1e-9)


def test_counts_that_no_test_comes_to_are_errors() -> None:
    with pytest.raises(ValueError, match="no test"):
        by_paths((0, 0), ((1, 1),))  # goes on after two
    with pytest.raises(ValueError, match="without a valid"):
        path_values(arm_count([None, None]), (arm_count([True, True]),))
