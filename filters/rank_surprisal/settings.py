"""The settings of the filter `rank_surprisal`."""

from pydantic import BaseModel, ConfigDict, Field

from synth.filters.rank_surprisal.ratio import MAX_RANK

ROLE = "student"


class RankSurprisalConfig(BaseModel):
    """`role`: of the flow's models, the student. `max_rank`: where a rank is capped, from 1.

    `select`: within a task, drop what is clearly above the lowest ratio; else the filter only
    measures. `least_candidates`: so many of
    one policy make a choice; fewer must come from two policies. `errors`: by how many standard
    errors of their difference.
    `solved_first`: where a task has successes, only they are candidates. `copied_span`: from so
    many tokens on, what stands in the context
    counts as copied (`rsr_decision`). `card`: the student's model card; left out, README.md in its
    folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    role: str = ROLE
    max_rank: int = Field(default=MAX_RANK, ge=1)
    copied_span: int = Field(default=6, ge=2)
    card: str | None = None
    select: bool = False
    solved_first: bool = True
    least_candidates: int = Field(default=8, ge=2)
    errors: float = Field(default=2.0, gt=0)


MEASURED = ("role", "max_rank", "copied_span")
"""Settings that the measures depend on; the others change nothing that was scored."""
