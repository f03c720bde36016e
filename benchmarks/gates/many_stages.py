"""The rules of step tests by themselves, over many stages that are played out with dice."""

from collections.abc import Iterator
from random import Random

from benchmarks.gates.means import Found, Mean
from benchmarks.gates.played_rule import PlayedTest, played_stage, played_state
from benchmarks.gates.table import Rate

NULL_TESTS = (8, 16, 32, 64, 144)
WORLDS = 400
GATE = "critical steps"


def played() -> Found:
    """The rule by itself, in many worlds."""
    rates, means = list[Rate](), list[Mean]()
    for tests in NULL_TESTS:
        for at_one in (1, 4):
            random = Random(f"null {tests} {at_one}")
            stages = [played_stage(random, tests // at_one, at_one) for _ in range(WORLDS)]
            source = f"dice, {tests} null tests, {at_one} a state"
            hits = sum(one.null > 0 for one in stages)
            rates.append(Rate(source, GATE, "worlds with a confirmed step", hits, WORLDS, ""))
            each = [20.0 * one.null for one in stages]
            means.append(Mean(source, "confirmed in 20 worlds", each, "at most 1"))

    return [*rates, *_effects()], [*means, *_gaps()]


def _effects() -> Iterator[Rate]:
    """Yields what becomes of real effects among acts that change nothing."""
    source = "dice, 30 effects among 180 tests"
    for own, other in ((0.1, 0.9), (0.2, 0.8)):
        random = Random(f"real {own}")
        stages = [played_stage(random, 150, 1, 30, own, other) for _ in range(WORLDS // 4)]
        kept, n = sum(one.real for one in stages), 30 * len(stages)
        what = f"effects of {other} against {own} that are not confirmed"
        yield Rate(source, GATE, what, n - kept, n, "at most 10 of 30")
        false = sum(one.null for one in stages)
        yield Rate(
            source,
            GATE,
            f"false of the confirmed, {other} against {own}",
            false,
            false + kept,
            "<= .2",
        )


def _gaps() -> Iterator[Mean]:
    """Yields how large effects are said to be, by true gap."""
    for gap, count in ((0.0, 20000), (0.4, 3000), (0.6, 1500)):
        random, source = Random(f"gap {gap}"), f"dice, true gap {gap:g}"
        tests: list[PlayedTest] = [
            test
            for _ in range(count)
            for test in played_state(random, 0.5 - gap / 2, [0.5 + gap / 2])
        ]
        held = [one for one in tests if one.accepted]
        truth = f"{gap:g}"
        yield Mean(source, "plain shares, all tests", [one.share_gap for one in tests], truth)
        yield Mean(source, "path counts, all tests", [one.path_gap for one in tests], truth)
        yield Mean(source, "plain shares, accepted", [one.share_gap for one in held], truth)
        yield Mean(source, "q_confirm, accepted", [one.fresh_gap for one in held], truth)
