"""How many steps a stage tests, and how many alternatives of each."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Proposals(BaseModel):
    """At most so many steps of a trajectory, and so many alternatives of each, drawn at most
    `samples` times from each source.

    `from`: steps of failed trials, or of successful ones too; the stage never looks at truncated
    and invalid trials.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    per_trajectory: int = Field(default=3, ge=1, le=100)
    alternatives: int = Field(default=2, ge=1, le=10)
    samples: int = Field(default=5, ge=1, le=100)
    source: Literal["failed", "all"] = Field(default="failed", alias="from")
