"""A comparison of two acts of collected trials, and one of its acts, as they are written."""

from collections.abc import Collection, Sequence

import msgspec

from synth.pairs.turns import policy_name
from synth.schemas import Authorship, Trajectory, content_hash
from synth.topology.partings.states import ActParting
from synth.topology.partings.trials import SeenTrial

FEWEST_TRIALS = 3
"""Of an act, below which its comparison is `single`."""


class ObservedPair(msgspec.Struct, frozen=True):
    """Two acts at one state, and the trials that did them. `successes` of `trials` passed on each
    side; `posterior` is the probability that the chosen act's rate is the higher one, both rates
    uniform before; `single`: an act was seen in fewer than 3 trials. `depth`: turns before it.
    """

    pair_id: str
    diverged: str
    depth: int
    chosen_id: str
    rejected_id: str
    chosen_successes: int
    chosen_trials: int
    rejected_successes: int
    rejected_trials: int
    posterior: float
    single: bool
    task_id: str
    chosen_policy: str
    rejected_policy: str
    across_policies: bool
    gold_informed: bool
    benchmark: str | None
    split: str | None
    chosen_authorship: Authorship
    rejected_authorship: Authorship

    @property
    def family(self) -> str:
        """By what parted the trials."""
        return f"observed_{self.diverged}"


class ObservedSide(msgspec.Struct, frozen=True):
    """One act of a comparison, as a trainer of single turns is given it. `desirable`: the act whose
    trials passed more often than those of the other one there.
    """

    pair: ObservedPair
    desirable: bool

    @property
    def trajectory_id(self) -> str:
        """Of the trial that shows the act."""
        return self.pair.chosen_id if self.desirable else self.pair.rejected_id

    @property
    def successes(self) -> int:
        """Trials that did it and passed."""
        return self.pair.chosen_successes if self.desirable else self.pair.rejected_successes

    @property
    def trials(self) -> int:
        """Trials that did it."""
        return self.pair.chosen_trials if self.desirable else self.pair.rejected_trials

    @property
    def policy(self) -> str:
        """Of the trial that shows it."""
        return self.pair.chosen_policy if self.desirable else self.pair.rejected_policy

    @property
    def authorship(self) -> Authorship:
        """Who wrote it."""
        return self.pair.chosen_authorship if self.desirable else self.pair.rejected_authorship


class DrawnComparison(msgspec.Struct, frozen=True):
    """A parting, with the trials that show its two acts."""

    parting: ActParting
    chosen: str
    rejected: str
    across_policies: bool

    def pair(self, chosen: Trajectory, rejected: Trajectory) -> ObservedPair:
        """With what the trials pass on to whatever is made of them."""
        parting = self.parting
        (won, trials), (lost, others) = parting.better.counts, parting.worse.counts

        return ObservedPair(
            pair_id=content_hash([chosen.trajectory_id, rejected.trajectory_id, parting.depth]),
            diverged=parting.diverged,
            depth=parting.depth,
            chosen_id=chosen.trajectory_id,
            rejected_id=rejected.trajectory_id,
            chosen_successes=won,
            chosen_trials=trials,
            rejected_successes=lost,
            rejected_trials=others,
            posterior=parting.posterior,
            single=min(trials, others) < FEWEST_TRIALS,
            task_id=chosen.task_id,
            chosen_policy=policy_name(chosen),
            rejected_policy=policy_name(rejected),
            across_policies=self.across_policies,
            gold_informed=chosen.gold_informed or rejected.gold_informed,
            benchmark=chosen.benchmark,
            split=chosen.split,
            chosen_authorship=chosen.authorship,
            rejected_authorship=rejected.authorship,
        )


def drawn_from(
    parting: ActParting, trials: Sequence[SeenTrial], passed: Collection[str]
) -> DrawnComparison:
    """The smallest ids stand for a side: the act is the same in all its trials."""
    policies = {trial.identity: trial.policy for trial in trials}
    sides = [{policies[one] for one in act.trials} for act in (parting.better, parting.worse)]

    return DrawnComparison(
        parting,
        min(one for one in parting.better.trials if one in passed),
        min(one for one in parting.worse.trials if one not in passed),
        across_policies=sides[0] != sides[1] or len(sides[0]) > 1,
    )
