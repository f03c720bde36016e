"""Success rates of acts whose continuations were played until a sequential test had seen enough.

The plain share is biased by that: at .5 against .5 the rule of `sequential` gives .561 for the
control and .439 for the other act (exact). The share of those *paths to the stopping point* whose
first continuation won is unbiased (Girshick, Mosteller and Savage 1946; it is the Rao-Blackwell
estimate from the first continuation). Tests that share a control are counted jointly: which of
them went on says something of the control.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, product
from math import comb, prod

import msgspec

from synth.stats.sequential import ROUND, decide_despite


class ArmCount(msgspec.Struct, frozen=True):
    """The continuations of one arm: how many of each round came to an end (`valid`), the others
    were lost to faults; `successes` in all rounds together.
    """

    valid: tuple[int, ...]
    successes: int

    @property
    def first(self) -> int:
        """The round of its first valid continuation. Raises `ValueError` where there is none."""
        for at, count in enumerate(self.valid):
            if count:
                return at
        raise ValueError("an arm without a valid continuation has no rate")


class Paths(msgspec.Struct, frozen=True):
    """Numbers of paths: all, and those whose first valid continuation won."""

    all: int
    won: int


def arm_count(solved: Sequence[bool | None]) -> ArmCount:
    """Of continuations in the order of their draws, None where a fault took one."""
    rounds = [solved[at : at + ROUND] for at in range(0, len(solved), ROUND)]
    valid = tuple(sum(one is not None for one in played) for played in rounds)
    return ArmCount(valid, sum(one is True for one in solved))


@lru_cache(maxsize=4096)
def path_values(control: ArmCount, treated: tuple[ArmCount, ...]) -> tuple[float, ...]:
    """The unbiased success rates of the control and of each treated arm, in their order.

    Every test of a treated arm against the control has ended at its arm's last round; the control
    was played as long as the longest of them. Raises `ValueError` where an arm has no valid
    continuation, and for counts that the rule does not come to.
    """
    whole, won = 0, [0] * (1 + len(treated))

    for successes, ways in _ways(control):
        # what the rule counts for the control: what faults took, it counts as won
        lost = [ROUND - count for count in control.valid]
        lead = tuple(zip(accumulate(successes), accumulate(lost), strict=True))
        each = [_treated_paths(arm, lead[: len(arm.valid)]) for arm in treated]
        paths = ways.all * prod(one.all for one in each)
        if paths:
            whole += paths
            won[0] += paths // ways.all * ways.won
            for at, one in enumerate(each, 1):
                won[at] += paths // one.all * one.won

    if not whole:
        raise ValueError(f"no test of the sequential rule comes to {control} and {treated}")

    return tuple(count / whole for count in won)


def _ways(arm: ArmCount) -> Iterator[tuple[tuple[int, ...], Paths]]:
    """The successes by round that add up to the arm's, each with its number of paths."""
    for successes in product(*(range(count + 1) for count in arm.valid)):
        if sum(successes) == arm.successes:
            ways = prod(map(comb, arm.valid, successes))
            # of the ways of its round, the first one wins in a share of successes / valid
            won = ways * successes[arm.first] // arm.valid[arm.first]
            yield successes, Paths(ways, won)


@lru_cache(maxsize=65536)
def _treated_paths(arm: ArmCount, control: tuple[tuple[int, int], ...]) -> Paths:
    """The paths of a treated arm whose test goes on up to its last round and ends there, given the
    control's (successes, losses) up to each round.
    """
    found = Paths(0, 0)
    looks = range(len(arm.valid))

    for successes, ways in _ways(arm):
        so_far = list(accumulate(successes))
        verdicts = [decide_despite(so_far[at], *control[at], ROUND * (at + 1)) for at in looks]
        if "more" not in verdicts[-1:] and all(one == "more" for one in verdicts[:-1]):
            found = Paths(found.all + ways.all, found.won + ways.won)

    return found
