"""Whether what a stage's sequential tests accepted may be called confirmed: how many of them would
be accepted if no act mattered.

Of null tests the rule accepts at most `FALSE_ACCEPT`, whatever the pass rate. Two conditions, and
an alarm. The expected share of false discoveries is at most a fifth (Benjamini and Hochberg 1995,
with the bound in the place of a p value); alone that confirms something in 18 % of the worlds with
16 null tests. So the number of *states* at which something was accepted must be one that null
tests reach in 1 % of the cases: tests of one state share the continuations of its own act, and are
accepted together. A/A tests that are accepted oftener than the bound allows say that something is
wrong with the continuations themselves.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, product
from math import comb

import msgspec
import numpy as np
import numpy.typing as npt

from synth.stats.sequential import MOST, ROUND, decide

FALSE_ACCEPT = 0.012054
"""Share of null tests that the rule accepts at the worst pass rate, .5 (by enumeration)."""
MOST_FALSE = 0.2
"""Expected share of false discoveries beyond which what was accepted is weak."""
MOST_CHANCE = 0.01
"""Chance under the null beyond which what was accepted is weak, and below which A/A tests alarm."""
_RATES = np.linspace(0, 1, 1001)
Rates = npt.NDArray[np.float64]


class StateTests(msgspec.Struct, frozen=True):
    """The tests at one state: how many came to a verdict, how many were accepted."""

    tests: int
    accepted: int


class Discoveries(msgspec.Struct, frozen=True):
    """What the tests of a stage came to.

    `false_share`: the expected share of false ones among the accepted is at most that; None where
    nothing was accepted. `chance`: of so many states with an accepted test if no act matters.
    `control_chance`: of so many accepted A/A tests; 1 without any.
    """

    tests: int
    accepted: int
    states: int
    accepted_states: int
    false_share: float | None
    chance: float
    control_chance: float

    @property
    def alarm(self) -> bool:
        """Whether the A/A tests were accepted more often than the rule can explain."""
        return self.control_chance < MOST_CHANCE

    @property
    def weak(self) -> bool:
        """Whether what was accepted is not confirmed."""
        if self.false_share is None:
            return self.alarm
        return self.alarm or self.false_share > MOST_FALSE or self.chance > MOST_CHANCE


def discoveries(
    states: Sequence[StateTests], control_accepted: int = 0, controls: int = 0
) -> Discoveries:
    """Judges the tests at all states of a stage beside its A/A tests. Raises `ValueError` for more
    accepted tests than there are.
    """
    if any(not 0 <= one.accepted <= one.tests for one in states):
        raise ValueError("a state has more accepted tests than tests")

    tests = sum(one.tests for one in states)
    accepted = sum(one.accepted for one in states)
    hit = sum(one.accepted > 0 for one in states)
    chances = Counter(any_false_accept(one.tests) for one in states if one.tests)

    return Discoveries(
        tests,
        accepted,
        chances.total(),
        hit,
        min(1.0, FALSE_ACCEPT * tests / accepted) if accepted else None,
        at_least(hit, chances),
        at_least(control_accepted, {FALSE_ACCEPT: controls}),
    )


def at_least(count: int, chances: Mapping[float, int]) -> float:
    """P(at least `count` of independent events happen); `chances`: probability -> how many events
    have it (a Poisson-binomial tail).
    """
    # scipy.stats has the distribution, and takes two seconds to import
    from scipy.special import bdtr

    below = np.zeros(max(count, 1))
    below[0] = 1.0
    for chance, events in chances.items():
        cumulated = bdtr(np.minimum(np.arange(len(below)), events), events, chance)
        below = np.convolve(below, np.diff(cumulated, prepend=0.0))[: len(below)]

    return float(np.clip(1 - below.sum(), 0, 1)) if count else 1.0


@lru_cache(maxsize=64)
def any_false_accept(tests: int) -> float:
    """P(at least one is accepted) of `tests` null tests that share a control, at the worst pass
    rate; by enumeration of the control's rounds.
    """
    none = sum(
        weight * (1 - _accepted(tuple(accumulate(control)))) ** tests
        for control, weight in _rounds()
    )
    return float(np.max(1 - none))


def _rounds() -> Sequence[tuple[tuple[int, ...], Rates]]:
    """The successes of a control's rounds, each with its probability by pass rate."""
    found = product(range(ROUND + 1), repeat=MOST // ROUND)
    return [(one, np.prod([_of_round(won) for won in one], axis=0)) for one in found]


def _of_round(won: int) -> Rates:
    """P(so many of a round's continuations win), by pass rate."""
    return comb(ROUND, won) * _RATES**won * (1 - _RATES) ** (ROUND - won)


def _accepted(control: tuple[int, ...]) -> Rates:
    """P(a test is accepted), by pass rate, given the control's successes up to each look."""
    going, accepted = {0: np.ones_like(_RATES)}, np.zeros_like(_RATES)

    for look, bad in enumerate(control, 1):
        reached: dict[int, Rates] = {}
        for (good, weight), won in product(going.items(), range(ROUND + 1)):
            reached[good + won] = reached.get(good + won, 0) + weight * _of_round(won)

        verdicts = {good: decide(good, bad, ROUND * look) for good in reached}
        accepted += sum(reached[good] for good, one in verdicts.items() if one == "accept")
        going = {good: reached[good] for good, one in verdicts.items() if one == "more"}

    return accepted
