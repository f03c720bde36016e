"""Tests of acts."""

from synth.engine.study.arms import Unit
from synth.engine.study.effects.effect import Effect
from synth.rollout.start import BranchPoint
from synth.schemas.evidence.labels import StepLabel
from tests.trajectories import make_trajectory


def difference(effect: Effect) -> float | None:
    """q(good) - q(bad), as a label of the test has it."""
    return StepLabel.tested(Unit(BranchPoint(make_trajectory(), 0)), effect).difference
