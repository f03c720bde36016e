"""What an owner of data lets into a dataset beyond what may always leave: the release settings."""

from pydantic import BaseModel, ConfigDict, field_validator

from synth.schemas.outcome import Outcome

ALL = "all"
"""In `honour`, in place of a filter's name: every one."""


class Release(BaseModel):
    """Which rows may leave that stay here unasked; `synth.datasets.release.may_leave` reads it.

    `outcomes`: of trajectories in chats. `honour`: the filters whose decisions count, in place of
    the kind's own list (`[all]`: of every filter). `include_evidence`: also continuations that
    were played to test an act, many of one state. `include_weak`: also labels whose test did not
    confirm them. `include_unverified`: also guided rows that a judge would have to clear of leaks,
    and none has, and trajectories of which the world's check could not tell whether they passed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcomes: tuple[Outcome, ...] = (Outcome.SUCCESS,)
    honour: tuple[str, ...] | None = None
    include_scripted: bool = False
    include_evidence: bool = False
    include_weak: bool = False
    include_unverified: bool = False
    allow_benchmark: bool = False
    allow_held_out: bool = False

    @field_validator("outcomes")
    @classmethod
    def _no_faults(cls, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        if Outcome.INVALID in outcomes:
            raise ValueError("invalid records are never exported: a fault is no label")
        return outcomes
