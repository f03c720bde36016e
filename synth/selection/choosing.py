"""Which trajectories of a task are taken: greedy over strategies, within quotas of loss;
deterministic, each with its reason.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import sqrt

import msgspec
from pydantic import BaseModel, ConfigDict, Field

PRIOR = 2.0
"""Beta(2, 2) over the pass rate of a task."""
EASY = 7 / 8
FEWEST_TRIALS = 4
"""By which a task can be called easy: half of those that pass every other time pass in one trial of
one.
"""


class TaskQuota(msgspec.Struct, frozen=True):
    """A task's trials with a verdict, the successes among them, and how many rows it could give."""

    trials: int
    successes: int
    available: int

    @property
    def pass_rate(self) -> float:
        """Shrunk to a half."""
        return (self.successes + PRIOR) / (self.trials + 2 * PRIOR)

    @property
    def easy(self) -> bool:
        """Whether it passes nearly always, as observed in at least `FEWEST_TRIALS`."""
        return self.trials >= FEWEST_TRIALS and self.successes >= EASY * self.trials


def allocated(tasks: Mapping[str, TaskQuota], rows: int, cap: int) -> dict[str, int]:
    """Rows per task: proportional to sqrt(p (1 - p)), at most `cap` and what it has, `rows`
    together or as near as that allows.

    Whole numbers by largest remainder; ties and order by task id, so that equal tasks give equal
    answers. What a task cannot take
    goes to the others.
    """
    limits = {
        task: min(cap, standing.available)
        for task, standing in sorted(tasks.items())
        if standing.available > 0
    }
    weights = {task: sqrt(tasks[task].pass_rate * (1 - tasks[task].pass_rate)) for task in limits}
    shares = _shares(limits, weights, min(rows, sum(limits.values())))
    given = {task: int(share) for task, share in shares.items()}
    left = min(rows, sum(limits.values())) - sum(given.values())
    open_tasks = [task for task in limits if given[task] < limits[task]]
    for task in sorted(open_tasks, key=lambda task: (given[task] - shares[task], task))[:left]:
        given[task] += 1
    return given


def _shares(limits: Mapping[str, int], weights: Mapping[str, float], rows: int) -> dict[str, float]:
    """Proportional to the weights; what is beyond a task's limit is dealt among the others."""
    found: dict[str, float] = {}
    open_tasks = dict(weights)
    left = float(rows)
    while open_tasks:
        total = sum(open_tasks.values())
        full = [
            task for task, weight in open_tasks.items() if left * weight / total >= limits[task]
        ]
        if not full:
            return found | {task: left * weight / total for task, weight in open_tasks.items()}
        for task in full:
            found[task] = float(limits[task])
            left -= limits[task]
            del open_tasks[task]
    return found


HARD = 0.25


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A success that every filter lets pass. `loss` is how much of it carries loss (characters);
    `evidence` names what stands behind it
    besides its outcome; `rank` sorts the better first; `recovered`: it came back from an excursion,
    `world_fault`: which a fault of the
    world had caused.
    """

    trajectory_id: str
    task_id: str
    strategy: Hashable
    loss: int
    rank: tuple[float, ...] = ()
    evidence: tuple[str, ...] = ()
    recovered: bool = False
    world_fault: bool = False


class SftSelection(BaseModel):
    """Rows per task on average and at most, and shares of all loss: of tasks that nearly always
    pass, of recoveries.

    `by_reward`: of a task they are drawn by chance, in proportion to the scores of the stage
    trajectory_reward, instead of the better
    ones first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_task: float = Field(default=2.0, gt=0, le=1000)
    cap: int = Field(default=4, ge=1)
    easy_share: float = Field(default=0.15, ge=0, le=1)
    recovery_share: float = Field(default=0.10, ge=0, le=1)
    by_reward: bool = False


def chosen(
    candidates: Sequence[Candidate], standings: Mapping[str, tuple[int, int]], rule: SftSelection
) -> dict[str, tuple[bool, str]]:
    """Trajectory -> (taken, reason). `standings` are trials and successes by task.

    A success of a task that passes in at most a quarter of its trials needs second evidence:
    rejection sampling on hard tasks
    concentrates luck (rigor: .49 of the passes where a task is truly solved once in twenty). Of one
    task every row has a strategy of
    its own; a strategy that only one success shows is taken beside others only with evidence of its
    own, and never before them.
    """
    decided: dict[str, tuple[bool, str]] = {}
    by_task: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=_order):
        trials, successes = standings.get(candidate.task_id, (0, 0))
        if trials and successes <= HARD * trials and not candidate.evidence:
            decided[candidate.trajectory_id] = (False, "lucky_unproven")
        else:
            by_task.setdefault(candidate.task_id, []).append(candidate)
    varied = {task: _one_per_strategy(found, decided) for task, found in by_task.items()}
    tasks = {
        task: TaskQuota(*standings.get(task, (0, 0)), len(found)) for task, found in varied.items()
    }
    shares = allocated(tasks, round(rule.per_task * len(tasks)), rule.cap)
    taken: list[Candidate] = []
    for task, found in varied.items():
        taken += found[: shares.get(task, 0)]
        decided |= {
            one.trajectory_id: (False, "task_has_its_share") for one in found[shares.get(task, 0) :]
        }
    easy = {task for task, standing in tasks.items() if standing.easy}
    left = len(taken) + 1
    while len(taken) < left:  # each quota is a share of what the other leaves
        left = len(taken)
        taken = _within(
            taken,
            lambda one: one.task_id in easy,
            rule.easy_share,
            "easy_tasks_have_their_share",
            decided,
        )
        taken = _within(
            _worlds_first(taken),
            lambda one: one.recovered,
            rule.recovery_share,
            "recoveries_have_their_share",
            decided,
        )
    return decided | {one.trajectory_id: (True, "chosen") for one in taken}


def _worlds_first(taken: Sequence[Candidate]) -> list[Candidate]:
    """Recoveries from faults of the world stand before those from mistakes of the agent's own
    (rigor.md 8.2).
    """
    return sorted(taken, key=lambda one: not one.world_fault)


def _order(one: Candidate) -> tuple[str, tuple[float, ...], str]:
    return one.task_id, tuple(-value for value in one.rank), one.trajectory_id


def _one_per_strategy(
    found: Sequence[Candidate], decided: dict[str, tuple[bool, str]]
) -> list[Candidate]:
    """The best of each strategy, in order; one that a single success shows, without evidence,
    stands last and only where it is alone.
    """
    seen = Counter(one.strategy for one in found)
    rare = {one.trajectory_id for one in found if seen[one.strategy] == 1 and not one.evidence}
    kept: list[Candidate] = []
    taken: set[Hashable] = set()
    for one in sorted(found, key=lambda one: one.trajectory_id in rare):
        if one.strategy in taken:
            decided[one.trajectory_id] = (False, "strategy_taken")
        elif kept and one.trajectory_id in rare:
            decided[one.trajectory_id] = (False, "rare_strategy_unproven")
        else:
            taken.add(one.strategy)
            kept.append(one)
    return kept


def _within(
    taken: Sequence[Candidate],
    limited: Callable[[Candidate], bool],
    share: float,
    reason: str,
    decided: dict[str, tuple[bool, str]],
) -> list[Candidate]:
    """The rows, but for those of the limited ones that would take more than their share of the loss
    of all that is kept.

    Where there are none but limited ones, the share binds nothing: half of nothing would be
    nothing.
    """
    others = sum(one.loss for one in taken if not limited(one))
    if not others:
        return list(taken)
    room = share / (1 - share) * others if share < 1 else float("inf")
    kept: list[Candidate] = []
    for one in taken:
        if limited(one):
            if one.loss > room:
                decided[one.trajectory_id] = (False, reason)
                continue
            room -= one.loss
        kept.append(one)
    return kept
