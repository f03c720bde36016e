"""Whether one act at a state makes success likelier than another: the sequential test of
continuations. What a stage of such tests has found says `discoveries`.

Estimand: Delta = E[R | do(good), pi] - E[R | do(bad), pi]. Per side m = 2, 4, 6, 8 continuations; g
= successes(good) - successes(bad).
Under any common pass rate it accepts at most 1.2 % of the tests; at .9 against .1 it accepts 89 %,
at .8 against .2 55 % (exact).
"""

from typing import Literal

ROUND = 2
"""Continuations per side that are played between two looks."""
MOST = 8
"""Continuations per side of the longest test."""
_ACCEPT_FROM = {4: 4, 6: 5, 8: 5}
_STOP_UP_TO = {2: 0, 4: 1, 6: 2, 8: 4}
MOST_LOST = 0.25
"""Share of a test's continuations that may be lost to faults: beyond it nothing is said, since
faults prefer the long ones.
"""
FEWEST_CONTROLLED = 10
"""Planned tests from which on a stage has a control."""

Verdict = Literal["accept", "stop", "more"]


def decide(successes_good: int, successes_bad: int, m: int) -> Verdict:
    """What the sequential rule says after `m` continuations per side. Raises `ValueError` for
    counts that no test comes to.
    """
    if m not in _STOP_UP_TO or not (0 <= successes_good <= m and 0 <= successes_bad <= m):
        raise ValueError(
            f"{successes_good} and {successes_bad} successes of {m} per side: the test looks at "
            "2, 4, 6 and 8"
        )

    gap = successes_good - successes_bad
    if m in _ACCEPT_FROM and gap >= _ACCEPT_FROM[m]:
        return "accept"

    return "stop" if gap <= _STOP_UP_TO[m] else "more"


def decide_despite(successes_good: int, successes_bad: int, lost_bad: int, m: int) -> Verdict:
    """The rule where faults took some of the `m` continuations: it accepts only what it would
    accept whatever those had come to.

    What the good side lost is no success here, what the bad side lost (`lost_bad`) is one.
    """
    return decide(successes_good, successes_bad + lost_bad, m)


def control_count(tests: int, share: float) -> int:
    """How many A/A tests stand beside so many planned ones: the share, at least one where ten are
    planned.
    """
    return max(round(share * tests), 1) if tests >= FEWEST_CONTROLLED else 0
