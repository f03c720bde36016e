"""Which trajectories of a task are taken: greedy over strategies, within quotas of loss;
deterministic, each with its reason.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from math import inf, sqrt

import msgspec
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from synth.success_evidence import HARD

PRIOR = 2.0
"""Beta(2, 2) over the pass rate of a task."""
EASY = 7 / 8
FEWEST_TRIALS = 4
"""By which a task can be called easy: half of those that pass every other time pass in one trial of
one.
"""
Standings = Mapping[str, tuple[int, int]]
"""Trials with a verdict, and the successes among them, by task."""


class TaskQuota(msgspec.Struct, frozen=True):
    """A task's trials with a verdict, the successes among them, and how many rows it could give."""

    trials: int
    successes: int
    available: int

    @property
    def weight(self) -> float:
        """sqrt(p (1 - p)), p shrunk to a half."""
        rate = (self.successes + PRIOR) / (self.trials + 2 * PRIOR)
        return sqrt(rate * (1 - rate))

    @property
    def easy(self) -> bool:
        """Whether it passes nearly always, as observed in at least `FEWEST_TRIALS`."""
        return self.trials >= FEWEST_TRIALS and self.successes >= EASY * self.trials


def allocated(tasks: Mapping[str, TaskQuota], rows: int, cap: int) -> dict[str, int]:
    """Rows per task: proportional to sqrt(p (1 - p)), at most `cap` and what it has, `rows`
    together or as near as that allows.

    Whole numbers by largest remainder; ties and order by task id, so that equal tasks give equal
    answers. What a task cannot take goes to the others.
    """
    limits = {
        task: min(cap, quota.available) for task, quota in sorted(tasks.items()) if quota.available
    }
    most = min(rows, sum(limits.values()))
    shares = _shares(limits, {task: tasks[task].weight for task in limits}, most)
    given = {task: int(shares[task]) for task in limits}
    left = most - sum(given.values())
    # the largest remainders get what whole numbers left over
    open_tasks = [task for task in limits if given[task] < limits[task]]
    for task in sorted(open_tasks, key=lambda task: (given[task] - shares[task], task))[:left]:
        given[task] += 1

    return given


def _shares(limits: Mapping[str, int], weights: dict[str, float], rows: int) -> dict[str, float]:
    """Proportional to the weights; what is beyond a task's limit is dealt among the others."""
    found: dict[str, float] = {}
    left = float(rows)

    while weights:
        total = sum(weights.values())
        shares = {task: left * weight / total for task, weight in weights.items()}
        # what these cannot take is dealt anew among the others
        full = [task for task, share in shares.items() if share >= limits[task]]
        if not full:
            return found | shares

        for task in full:
            found[task] = float(limits[task])
            left -= limits[task]
            del weights[task]

    return found


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A success that every filter lets pass. `loss` is how much of it carries loss (characters);
    `evidence` names what stands behind it besides its outcome; `rank` sorts the better first;
    `recovered`: it came back from an excursion, `world_fault`: which a fault of the world had
    caused; `declared`: its verdict came with the data.
    """

    trajectory_id: str
    task_id: str
    strategy: Hashable
    loss: int
    rank: tuple[float, ...] = ()
    evidence: tuple[str, ...] = ()
    recovered: bool = False
    world_fault: bool = False
    declared: bool = False

    @property
    def order(self) -> tuple[Hashable, ...]:
        """Tasks by id, of one the better first."""
        return self.task_id, tuple(-value for value in self.rank), self.trajectory_id


class SftSelection(BaseModel):
    """Rows per task on average and at most, and shares of all loss: of tasks that nearly always
    pass, of recoveries.

    `by_reward`: of a task they are drawn by chance, in proportion to the scores of the stage
    trajectory_reward, instead of the better ones first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_task: float = Field(default=2.0, gt=0, le=1000)
    cap: int = Field(default=4, ge=1)
    easy_share: float = Field(default=0.15, ge=0, le=1)
    recovery_share: float = Field(default=0.10, ge=0, le=1)
    by_reward: bool = False


def chosen(
    candidates: Iterable[Candidate], standings: Standings, rule: SftSelection
) -> dict[str, tuple[bool, str]]:
    """Trajectory -> (taken, reason). `standings` are trials and successes by task.

    A success of a task that passes in at most a quarter of its trials needs second evidence:
    rejection sampling on hard tasks concentrates luck (rigor: .49 of the passes where a task is
    truly solved once in twenty). Of one task every row has a strategy of its own; a strategy that
    only one success shows is taken beside others only with evidence of its own, and never before
    them. Successes that a check of ours found and those that came as such have quotas of their own.
    """
    by_class = dict[bool, list[Candidate]]()
    for one in candidates:
        by_class.setdefault(one.declared, []).append(one)
    found = dict[str, tuple[bool, str]]()
    for alike in by_class.values():
        found |= _chosen(alike, standings, rule)
    return found


def _chosen(
    candidates: Iterable[Candidate], standings: Standings, rule: SftSelection
) -> dict[str, tuple[bool, str]]:
    """As `chosen`, of one class."""
    choice = SeededChoice(candidates)
    rows = choice.without(_frame(choice.ordered, standings), _LUCKY, "lucky_unproven")
    # a strategy that one success alone shows may be luck
    rare = (pl.len().over("task", "strategy") == 1) & ~pl.col("proven")
    rows = rows.with_columns(rare=rare).sort("task", "rare", "at")
    rows = choice.without(rows, _PLACE.over("task", "strategy") > 0, "strategy_taken")
    beside = pl.col("rare") & (_PLACE.over("task") > 0)
    rows = choice.without(rows, beside, "rare_strategy_unproven")
    tasks = {
        task: TaskQuota(*standings.get(task, (0, 0)), available)
        for task, available in rows["task"].value_counts().iter_rows()
    }

    shares = allocated(tasks, round(rule.per_task * len(tasks)), rule.cap)
    share = pl.col("task").replace_strict(shares, default=0, return_dtype=pl.Int64)
    rows = choice.without(rows, _PLACE.over("task") >= share, "task_has_its_share")
    taken = [choice.ordered[at] for at in rows["at"]]
    easy = {one.trajectory_id for one in taken if tasks[one.task_id].easy}
    recovered = {one.trajectory_id for one in taken if one.recovered}
    left = len(taken) + 1

    while len(taken) < left:  # each quota is a share of what the other leaves
        left = len(taken)
        taken = choice.within(taken, easy, rule.easy_share, "easy_tasks_have_their_share")
        # recoveries from faults of the world before those from mistakes of its own (rigor.md 8.2)
        taken.sort(key=lambda one: not one.world_fault)
        taken = choice.within(taken, recovered, rule.recovery_share, "recoveries_have_their_share")

    return choice.decided | {one.trajectory_id: (True, "chosen") for one in taken}


_PLACE = pl.int_range(pl.len())
_LUCKY = pl.col("hard") & ~pl.col("proven")


def _frame(ordered: Sequence[Candidate], standings: Standings) -> pl.DataFrame:
    """The candidates in their order: `strategy` by number; `hard`: of a task that seldom passes."""
    strategies = {one: at for at, one in enumerate({one.strategy for one in ordered})}
    hard = {task for task, (n, passed) in standings.items() if n and passed <= HARD * n}

    return pl.DataFrame(
        [
            (at, one.task_id, strategies[one.strategy], bool(one.evidence), one.task_id in hard)
            for at, one in enumerate(ordered)
        ],
        schema={
            "at": pl.Int64,
            "task": pl.String,
            "strategy": pl.Int64,
            "proven": pl.Boolean,
            "hard": pl.Boolean,
        },
        orient="row",
    )


class SeededChoice:
    """Candidates, tasks by id and of one the better first, and what is decided against them."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.ordered = sorted(candidates, key=lambda one: one.order)
        self.decided: dict[str, tuple[bool, str]] = {}

    def without(self, rows: pl.DataFrame, dropped: pl.Expr, why: str) -> pl.DataFrame:
        """The rows but for those that are dropped for a reason."""
        for at in rows.filter(dropped)["at"]:
            self.decided[self.ordered[at].trajectory_id] = (False, why)
        return rows.filter(~dropped)

    def within(
        self, taken: Sequence[Candidate], limited: Set[str], share: float, why: str
    ) -> list[Candidate]:
        """The rows, but for those of the limited ones that would take more than their share of the
        loss of all that is kept.

        Where there are none but limited ones, the share binds nothing: half of nothing would be
        nothing.
        """
        others = sum(one.loss for one in taken if one.trajectory_id not in limited)
        room = share / (1 - share) * others if share < 1 and others else inf
        kept: list[Candidate] = []

        for one in taken:
            if one.trajectory_id not in limited:
                kept.append(one)
            elif one.loss <= room:
                room -= one.loss
                kept.append(one)
            else:
                self.decided[one.trajectory_id] = (False, why)

        return kept
