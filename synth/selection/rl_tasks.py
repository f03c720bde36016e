"""Which tasks reinforcement learning is given: those whose next group of trials is likely to have
both outcomes.

A group of G trials with one outcome has no advantage, and teaches nothing. Ranked by E[1 - p^G -
(1-p)^G] under the Beta posterior of the pass rate (rigor.md 13), exact.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.topology.task_measures import mixed_group_probability

Unsolved = Literal["proven", "all", "none"]
BANDS = (0.0, 0.25, 0.5, 0.75, 1.0)


class RlTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task's trials with a verdict and the successes among them; `solvable`: proven so by
    something else than those trials.

    `branching` = error branch ratio x strategic heterogeneity, None where either is. `refused`: why
    no export would take it in.
    """

    task_id: str
    trials: int
    successes: int
    solvable: bool = False
    branching: float | None = None
    refused: str | None = None


class RlSelection(BaseModel):
    """Tasks whose next `group` trials have both outcomes with a chance of at least `least`, at most
    `tasks` of them, the likeliest first.

    `unsolved`: which tasks without a success are kept beside them: `proven` solvable (test T8, or a
    success of a retry), `all`, `none`. `by_branching`: ties by error branch ratio x strategic
    heterogeneity, before the task id.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: int = Field(default=8, ge=2, le=1024)
    tasks: int | None = Field(default=None, ge=1)
    least: float = Field(default=0.5, ge=0, le=1)
    unsolved: Unsolved = "proven"
    by_branching: bool = False


class RankedTask(msgspec.Struct, frozen=True):
    """Whether a task is taken, why, the chance that its group is mixed, and its rank from 1 among
    those that compete.
    """

    keep: bool
    reason: str
    mixed: float
    rank: int | None = None


def ranked(tasks: Sequence[RlTask], rule: RlSelection) -> dict[str, RankedTask]:
    """Task -> what was decided of it. Tasks that were never tried compete by the prior."""

    def place(one: RlTask) -> tuple[float, float, str]:
        tie = (one.branching or 0.0) if rule.by_branching else 0.0

        return -_mixed(one, rule), -tie, one.task_id

    # tasks that always failed are kept beside the ranked ones, or not at all
    competing = (one for one in tasks if one.refused is None and (one.successes or not one.trials))
    order = {one.task_id: rank for rank, one in enumerate(sorted(competing, key=place), 1)}
    most = rule.tasks or len(order)

    return {one.task_id: _decided(one, order.get(one.task_id), most, rule) for one in tasks}


def _decided(one: RlTask, rank: int | None, most: int, rule: RlSelection) -> RankedTask:
    mixed = _mixed(one, rule)
    if one.refused is not None:
        return RankedTask(False, one.refused, mixed)
    if rank is None:
        keep = rule.unsolved == "all" or (rule.unsolved == "proven" and one.solvable)

        return RankedTask(keep, "unsolved_but_solvable" if one.solvable else "unsolved", mixed)

    beyond = "enough_tasks" if rank > most else "chosen"
    reason = "seldom_mixed" if mixed < rule.least else beyond

    return RankedTask(reason == "chosen", reason, mixed, rank)


def _mixed(one: RlTask, rule: RlSelection) -> float:
    """The chance that the next group of trials has both outcomes."""
    return mixed_group_probability(one.successes, one.trials, rule.group)


def band(one: RlTask) -> str:
    """For instance `up to 0.5`; `untried` without a trial."""
    return (
        f"up to {next(top for top in BANDS if one.successes <= top * one.trials):g}"
        if one.trials
        else "untried"
    )
