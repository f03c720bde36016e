"""What goes into pairs and step labels."""

from pydantic import BaseModel, ConfigDict, Field

HONOURED = ("secrets", "control_tokens", "duplicates", "contamination", "leak", "leaks")
"""Filters whose drop keeps a trajectory out of pairs and labels; provenance is asked of the very
turn that is to be learnt.
"""

ALL = "all"
"""In place of a filter's name: every one."""


class LabelSettings(BaseModel):
    """What KTO rows and step labels share with pairs.

    `student`: the policy to be trained; left out, each label's own (`on_policy_for`). `fewest`:
    continuations below which a rate makes no
    positive (a deterministic flip counts as it is). `include_statistical`: step labels of tier E3
    too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    student: str | None = None
    include_scripted: bool = False
    allow_benchmark: bool = False
    allow_held_out: bool = False
    include_statistical: bool = False
    honours: tuple[str, ...] = HONOURED
    fewest: int = Field(default=4, ge=1, le=8)


class PairSettings(LabelSettings):
    """Caps count pairs of one (task, turn), of one task, of one world seed and of one template,
    where the last two are known.

    `length_auc`: what a classifier that sees nothing but length may reach, over all pairs and
    within each family; pairs are left out until
    it holds. `style_auc`: from where a family is called style-confounded.
    """

    per_step: int = Field(default=3, ge=1)
    per_task: int = Field(default=20, ge=1)
    per_seed: int = Field(default=100, ge=1)
    per_template: int = Field(default=1000, ge=1)
    length_auc: float = Field(default=0.60, ge=0.5, le=1)
    style_auc: float = Field(default=0.65, ge=0.5, le=1)
