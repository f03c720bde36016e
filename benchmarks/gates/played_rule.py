"""Stages of sequential tests played out with dice in place of an environment: many worlds in which
no act matters, and worlds with real effects.
"""

from dataclasses import dataclass
from random import Random

from synth.engine.study.effects.effect import FRESH
from synth.stats.discoveries import StateTests, discoveries
from synth.stats.path_counts import arm_count, path_values
from synth.stats.sequential import MOST, ROUND, decide


@dataclass(frozen=True, slots=True)
class PlayedTest:
    """One test: what the act and its control were seen to do, and fresh continuations' gap."""

    good: tuple[bool, ...]
    bad: tuple[bool, ...]
    accepted: bool
    fresh_gap: float

    @property
    def share_gap(self) -> float:
        """Plain shares."""
        return sum(self.good) / len(self.good) - sum(self.bad) / len(self.bad)

    @property
    def path_gap(self) -> float:
        """Path counts."""
        bad, good = path_values(arm_count(self.bad), (arm_count(self.good),))
        return good - bad


def played_state(random: Random, own: float, others: list[float]) -> list[PlayedTest]:
    """The tests of one state, which share the continuations of its own act."""

    def draws(rate: float, count: int) -> list[bool]:
        return [random.random() < rate for _ in range(count)]

    control, fresh = draws(own, MOST), draws(own, FRESH)
    found = []
    for rate in others:
        good, verdict = list[bool](), "more"
        while verdict == "more":
            good += draws(rate, ROUND)
            verdict = decide(sum(good), sum(control[: len(good)]), len(good))
        gap = (sum(draws(rate, FRESH)) - sum(fresh)) / FRESH
        bad = tuple(control[: len(good)])
        found.append(PlayedTest(tuple(good), bad, verdict == "accept", gap))

    return found


@dataclass(frozen=True, slots=True)
class PlayedStage:
    """How many labels of a stage are confirmed: of acts that change nothing, and of those that
    do.
    """

    null: int
    real: int


def played_stage(
    random: Random, states: int, at_one: int, effects: int = 0, own: float = 0.1, other: float = 0.9
) -> PlayedStage:
    """States at which no act matters, each with a pass rate of its own and `at_one` tests, and
    `effects` states with one test of a real effect.
    """
    null = [played_state(random, rate, [rate] * at_one) for rate in (0.5 for _ in range(states))]
    real = [played_state(random, own, [other]) for _ in range(effects)]
    counts = [[sum(one.accepted for one in tests) for tests in found] for found in (null, real)]
    tests = [
        StateTests(len(tests), accepted)
        for found, each in zip((null, real), counts, strict=True)
        for tests, accepted in zip(found, each, strict=True)
    ]
    confirmed = not discoveries(tests).weak
    return PlayedStage(*(sum(each) if confirmed else 0 for each in counts))
