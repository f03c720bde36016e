"""Runs whose customer is worded by a model."""

from synth.schemas.trajectory import Source, Trajectory


def spoken(trajectory: Trajectory) -> list[str]:
    return [
        seen.content
        for turn in trajectory.turns
        for seen in turn.observations
        if seen.source is Source.USER
    ]


def calls_of(trajectory: Trajectory) -> int:
    """Of the user's model."""
    return trajectory.user_totals.calls
