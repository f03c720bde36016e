"""The settings of the stage `critical_step`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from synth.rollout.limits import Limits


class Proposals(BaseModel):
    """At most so many steps of a trajectory, and so many alternatives of each, drawn at most
    `samples` times from each source.

    `from`: steps of failed trials, or of successful ones too; truncated and invalid trials are
    never looked at.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    per_trajectory: int = Field(default=3, ge=1, le=100)
    alternatives: int = Field(default=2, ge=1, le=10)
    samples: int = Field(default=5, ge=1, le=100)
    source: Literal["failed", "all"] = Field(default="failed", alias="from")


class CriticalStepSettings(BaseModel):
    """Which steps are tested, against what, by whose continuations.

    `role`: whose trials they are, and who continues them. `alternatives_from`: roles, or `expert`
    for the world's own planner; left out,
    the role itself and, where the world has one, its expert. `control_share` of the tests compare
    the own act with itself (A/A), at least
    one where ten are planned. `limits`: left out, those of the flow's rollout. `shard` trajectories
    are committed together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str = "explorer"
    proposals: Proposals = Proposals()
    alternatives_from: tuple[str, ...] = ()
    control_share: float = Field(default=0.05, gt=0, le=0.5)
    limits: Limits | None = None
    shard: int = Field(default=10, ge=1, le=200)
    live: int | None = Field(default=None, ge=1)
