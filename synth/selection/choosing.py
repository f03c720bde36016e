"""Which trajectories of a task are taken: greedy over strategies, within quotas of loss;
deterministic, each with its reason.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

import msgspec

from synth.selection.allocation import TaskQuota, allocated

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


class Quotas(msgspec.Struct, frozen=True):
    """`per_task` rows on average and at most `cap`; shares of all loss for tasks that nearly always
    pass, and for recoveries.
    """

    per_task: float = 2.0
    cap: int = 4
    easy_share: float = 0.15
    recovery_share: float = 0.10


def chosen(
    candidates: Sequence[Candidate], standings: Mapping[str, tuple[int, int]], quotas: Quotas
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
    shares = allocated(tasks, round(quotas.per_task * len(tasks)), quotas.cap)
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
            quotas.easy_share,
            "easy_tasks_have_their_share",
            decided,
        )
        taken = _within(
            _worlds_first(taken),
            lambda one: one.recovered,
            quotas.recovery_share,
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
