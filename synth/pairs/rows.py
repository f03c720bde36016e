"""Labels beside the recorded turns that they are about, as exporters need them."""

import msgspec

from synth.schemas.pairs import KtoLabel, PreferencePair, StepLabel
from synth.schemas.trajectory import Trajectory, Turn


class PairRow(msgspec.Struct, frozen=True):
    """`prompt` is the recorded trajectory that holds the prefix: everything before turn
    `pair.prefix.turn` of it.

    `action_only`: one side alone has a thought; both are to be rendered without, or the thought
    gives the answer away.
    """

    pair: PreferencePair
    prompt: Trajectory
    chosen: Turn
    rejected: Turn

    @property
    def action_only(self) -> bool:
        return bool(self.chosen.thought) is not bool(self.rejected.thought)


class KtoRow(msgspec.Struct, frozen=True):
    """The prompt is what stands before the turn in `trajectory`."""

    label: KtoLabel
    trajectory: Trajectory

    @property
    def completion(self) -> Turn:
        """The labelled turn."""
        return self.trajectory.turns[self.label.turn]


class StepRow(msgspec.Struct, frozen=True):
    """A step label beside its trajectory."""

    label: StepLabel
    trajectory: Trajectory

    @property
    def step(self) -> Turn:
        """The labelled turn."""
        return self.trajectory.turns[self.label.turn]
