"""A test of one act against another at a state: the continuations of both sides, and the
verdict.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from synth.engine.study.episodes import Continuation
from synth.schemas import Outcome, Trajectory
from synth.stats.path_counts import arm_count, path_values

FRESH = 4
"""Continuations per side that an accepted test is followed by; they alone say how large the effect
is, for given that a test was accepted its own gap is about .8 whatever the truth.
"""
TestMethod = Literal["sequential", "flip_deterministic"]


class Side(msgspec.Struct, frozen=True):
    """The continuations of one arm, in the order of their draws; those with a verdict count."""

    played: tuple[Continuation, ...] = ()

    @property
    def valid(self) -> list[Continuation]:
        """The continuations that came to an end, and to a verdict."""
        return [one for one in self.played if not _without_verdict(one)]

    @property
    def n(self) -> int:
        """The number of continuations with a verdict."""
        return len(self.valid)

    @property
    def successes(self) -> int:
        """The number of continuations that passed."""
        return sum(self.solved)

    @property
    def solved(self) -> tuple[bool, ...]:
        """Whether each valid continuation passed."""
        return tuple(one.outcome is Outcome.SUCCESS for one in self.valid)

    @property
    def in_order(self) -> tuple[bool | None, ...]:
        """Whether each continuation passed, None of one that did not come to a verdict."""
        return tuple(
            None if _without_verdict(one) else one.outcome is Outcome.SUCCESS for one in self.played
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """The valid trajectories."""
        return tuple(str(one.trajectory_id) for one in self.valid)

    @property
    def lost(self) -> int:
        """The number of continuations that faults took, or of which the check could not tell."""
        return sum(one.fault is not None or one.outcome is Outcome.UNKNOWN for one in self.played)

    @property
    def rate(self) -> float | None:
        """The share of successes; None without a verdict."""
        return self.successes / self.n if self.n else None


def _without_verdict(one: Continuation) -> bool:
    """Whether a continuation says nothing: it did not end, or nobody knows how."""
    return one.trajectory_id is None or one.outcome is Outcome.UNKNOWN


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test of `good` against `bad`.

    `accepted` None: undefined, for the `reason` given. `continuations`: all attempts that were made
    for this test, to be committed with its label (those that it shares with other tests are not
    among them). `proposed`: the columns of a label about the act that `good` puts there.
    `fresh_good`, `fresh_bad`: continuations after an accepted test, which it never looked at.
    """

    accepted: bool | None
    method: TestMethod
    good: Side
    bad: Side
    continuations: Sequence[Trajectory]
    reason: str | None = None
    proposed: Mapping[str, Any] = {}
    fresh_good: Side = Side()
    fresh_bad: Side = Side()

    @property
    def seen(self) -> tuple[Continuation, ...]:
        """The continuations of both sides."""
        return self.good.played + self.bad.played

    @property
    def open(self) -> bool:
        """Whether a rerun may still tell."""
        left = self.reason == "not_started" or any(one.open for one in self.seen)
        return self.accepted is None and left

    @property
    def stopped_at(self) -> int:
        """The continuations per side that the test looked at."""
        return len(self.bad.played)

    @property
    def invalid(self) -> int:
        """The number of continuations on both sides that are lost."""
        return self.good.lost + self.bad.lost

    @property
    def gap(self) -> float | None:
        """How much likelier `good` makes success: unbiased over all tests, by the path counts of
        this one, though not over the accepted ones. None where it is undefined.
        """
        if self.accepted is None or not (self.good.n and self.bad.n):
            return None
        if self.method == "flip_deterministic":
            return float(self.good.successes - self.bad.successes)
        bad, good = path_values(arm_count(self.bad.in_order), (arm_count(self.good.in_order),))
        return good - bad

    def alternative(self) -> Mapping[str, Any]:
        """The tested act, and its source."""
        return self.proposed

    def evidence(self) -> Mapping[str, Any]:
        """Counts and continuations, as every label that stands on the test carries them; where the
        server changed its weights meanwhile, the test is undefined.
        """

        weights = (one.weights_id for one in self.seen if one.weights_id is not None)
        return {
            "q_pos": self.good.rate,
            "n_pos": self.good.n,
            "q_neg": self.bad.rate,
            "n_neg": self.bad.n,
            "gap": self.gap,
            "method": self.method,
            "stopped_at": self.stopped_at,
            "invalid": self.invalid,
            "weights_id": next(weights, None),
            "pos_ids": list(self.good.ids),
            "neg_ids": list(self.bad.ids),
            **(self._confirmed() if self.accepted and self.method == "sequential" else {}),
        }

    def _confirmed(self) -> Mapping[str, Any]:
        """What the fresh continuations of both sides came to: undefined below `FRESH` on a side,
        and where other weights than the test's played them.
        """
        good, bad = self.fresh_good, self.fresh_bad
        valid = [*self.good.valid, *self.bad.valid, *good.valid, *bad.valid]
        weights = {one.weights_id for one in valid if one.weights_id is not None}
        known = min(good.n, bad.n) >= FRESH and len(weights) < 2
        return {
            "q_confirm": (good.rate or 0.0) - (bad.rate or 0.0) if known else None,
            "confirm_pos_ids": list(good.ids),
            "confirm_neg_ids": list(bad.ids),
            "confirm_pos": good.successes,
            "confirm_neg": bad.successes,
        }
