"""How many steps a stage tests, and how many alternatives of each."""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

ProposalRule = Literal["judge", "retry", "drop", "effect", "departure", "error", "last"]
RULES: tuple[ProposalRule, ...] = get_args(ProposalRule)
"""What proposes steps (`synth.synthesizers.suggested_steps`), in the order in which it is heard."""


class Proposals(BaseModel):
    """At most so many steps of a trajectory, and so many alternatives of each, drawn at most
    `samples` times from each source.

    `from`: steps of failed trials, or of successful ones too; the stage never looks at truncated
    and invalid trials. `rules`: what proposes steps, one step of each in turn, in this order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    per_trajectory: int = Field(default=3, ge=1, le=100)
    alternatives: int = Field(default=2, ge=1, le=10)
    samples: int = Field(default=5, ge=1, le=100)
    source: Literal["failed", "all"] = Field(default="failed", alias="from")
    rules: tuple[ProposalRule, ...] = Field(default=RULES, min_length=1)
