"""Which tasks reinforcement learning is given: those whose next group of trials is likely to have
both outcomes.

A group of G trials with one outcome has no advantage, and teaches nothing. Ranked by E[1 - p^G -
(1-p)^G] under the Beta posterior of the
pass rate (rigor.md 13), exact.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

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


class RlRule(msgspec.Struct, frozen=True):
    """`group` trials per task and step of the trainer; at most `tasks`, with a mixed group at least
    as likely as `least`.

    Tasks without a success do not compete: `unsolved` says which of them are kept beside the
    others, `proven` for those that are known to
    be solvable. `by_branching` breaks ties by `RlTask.branching`; what is left of them falls to the
    task ids, which are content hashes.
    """

    group: int = 8
    tasks: int | None = None
    least: float = 0.5
    unsolved: Unsolved = "proven"
    by_branching: bool = False


class Ranked(msgspec.Struct, frozen=True):
    """Whether a task is taken, why, the chance that its group is mixed, and its rank from 1 among
    those that compete.
    """

    keep: bool
    reason: str
    mixed: float
    rank: int | None = None


def ranked(tasks: Sequence[RlTask], rule: RlRule) -> dict[str, Ranked]:
    """Task -> what was decided of it. Tasks that were never tried compete by the prior."""
    mixed = {
        one.task_id: mixed_group_probability(one.successes, one.trials, rule.group) for one in tasks
    }
    found: dict[str, Ranked] = {}
    competing: list[RlTask] = []
    for one in tasks:
        chance = mixed[one.task_id]
        if one.refused is not None:
            found[one.task_id] = Ranked(False, one.refused, chance)
        elif one.trials and not one.successes:
            keep = rule.unsolved == "all" or (rule.unsolved == "proven" and one.solvable)
            found[one.task_id] = Ranked(
                keep, "unsolved_but_solvable" if one.solvable else "unsolved", chance
            )
        else:
            competing.append(one)
    order = sorted(competing, key=lambda one: (-mixed[one.task_id], -_tie(one, rule), one.task_id))
    for rank, one in enumerate(order, 1):
        chance = mixed[one.task_id]
        reason = (
            "seldom_mixed"
            if chance < rule.least
            else "enough_tasks"
            if rule.tasks is not None and rank > rule.tasks
            else "chosen"
        )
        found[one.task_id] = Ranked(reason == "chosen", reason, chance, rank)
    return found


def _tie(one: RlTask, rule: RlRule) -> float:
    return one.branching or 0.0 if rule.by_branching else 0.0


def band(one: RlTask) -> str:
    """For instance `up to 0.5`; `untried` without a trial."""
    return (
        f"up to {next(top for top in BANDS if one.successes <= top * one.trials):g}"
        if one.trials
        else "untried"
    )
