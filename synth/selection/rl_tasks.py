"""Which tasks reinforcement learning is given: those whose next group of trials is likely to have
both outcomes.

A group of G trials with one outcome has no advantage, and teaches nothing. Ranked by E[1 - p^G -
(1-p)^G] under the Beta posterior of the
pass rate (rigor.md 13), exact.
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
    success of a retry), `all`, `none`.
    `by_branching`: ties by error branch ratio x strategic heterogeneity, before the task id.
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
    mixed = {
        one.task_id: mixed_group_probability(one.successes, one.trials, rule.group) for one in tasks
    }
    found: dict[str, RankedTask] = {}
    competing: list[RlTask] = []
    for one in tasks:
        chance = mixed[one.task_id]
        if one.refused is not None:
            found[one.task_id] = RankedTask(False, one.refused, chance)
        elif one.trials and not one.successes:
            keep = rule.unsolved == "all" or (rule.unsolved == "proven" and one.solvable)
            found[one.task_id] = RankedTask(
                keep, "unsolved_but_solvable" if one.solvable else "unsolved", chance
            )
        else:
            competing.append(one)

    def place(one: RlTask) -> tuple[float, float, str]:
        tie = (one.branching or 0.0) if rule.by_branching else 0.0
        return -mixed[one.task_id], -tie, one.task_id

    order = sorted(competing, key=place)
    for rank, one in enumerate(order, 1):
        chance = mixed[one.task_id]
        most = rule.tasks or len(order)
        beyond = "enough_tasks" if rank > most else "chosen"
        reason = "seldom_mixed" if chance < rule.least else beyond
        found[one.task_id] = RankedTask(reason == "chosen", reason, chance, rank)
    return found


def band(one: RlTask) -> str:
    """For instance `up to 0.5`; `untried` without a trial."""
    return (
        f"up to {next(top for top in BANDS if one.successes <= top * one.trials):g}"
        if one.trials
        else "untried"
    )
