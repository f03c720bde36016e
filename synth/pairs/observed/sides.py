"""One act of a comparison, as a trainer of single turns is given it."""

import msgspec

from synth.pairs.observed.pair import ObservedPair
from synth.schemas import Authorship


class ObservedSide(msgspec.Struct, frozen=True):
    """`desirable`: the act whose trials passed more often than those of the other one there."""

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
