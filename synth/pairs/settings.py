"""What goes into pairs and step labels."""

from pydantic import Field

from synth.schemas.release import Release


class LabelSettings(Release):
    """What KTO rows and step labels share with pairs.

    `student`: the policy to be trained; left out, each label's own (`on_policy_for`). `fewest`:
    continuations below which a rate makes no
    positive (a deterministic flip counts as it is). `include_statistical`: step labels of tier E3
    too.
    """

    student: str | None = None
    include_statistical: bool = False
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
