"""Which of all verified tasks a stage keeps: distinct ones first."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from synth.schemas.canonical import content_hash
from synth.schemas.task import Task


@dataclass(frozen=True)
class Choice:
    """The tasks that are kept, and how many were left out for which reason."""

    tasks: tuple[Task, ...]
    left_out: dict[str, int]


def distinctness(task: Task) -> tuple[str, str]:
    """What makes two tasks the same kind of task: operations and goal, both with their entities
    masked.
    """
    return str(task.difficulty["signature"]), str(task.difficulty["structure"])


def chosen(tasks: Sequence[Task], most: int | None, told_apart_by: Collection[str] = ()) -> Choice:
    """At most `most` of the tasks: one of each kind, rare kinds first, then a second one of each,
    ...

    Of tasks that only their seed and the settings `told_apart_by` tell apart
    (`World.told_apart_by`), the first one alone.
    """
    distinct = _distinct(tasks, told_apart_by) if told_apart_by else tasks
    kinds: defaultdict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in distinct:
        kinds[distinctness(task)].append(task)
    rare_first = sorted(kinds.items(), key=lambda kind: (len(kind[1]), kind[0]))
    rounds = max(map(len, kinds.values()), default=0)
    in_turn = [
        of_kind[number]
        for number in range(rounds)
        for _, of_kind in rare_first
        if number < len(of_kind)
    ]
    picked = in_turn if most is None else in_turn[:most]
    left_out = {
        "same_as_another": len(tasks) - len(distinct),
        "more_than_asked_for": len(in_turn) - len(picked),
    }
    return Choice(tuple(picked), {reason: count for reason, count in left_out.items() if count})


def _distinct(tasks: Sequence[Task], told_apart_by: Collection[str]) -> Sequence[Task]:
    """The first task of each goal, check, user and start."""
    first: dict[str, Task] = {}
    for task in tasks:
        start = {
            name: value for name, value in task.env_config.items() if name not in told_apart_by
        }
        first.setdefault(
            content_hash([task.goal, task.check, task.script, start, task.split, task.benchmark]),
            task,
        )
    return list(first.values())
