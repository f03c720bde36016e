"""Which of all verified tasks a stage keeps: distinct ones first."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.task import Task


@dataclass(frozen=True)
class Choice:
    """The tasks that are kept, and how many were left out for which reason."""

    tasks: tuple[Task, ...]
    left_out: dict[str, int]


def distinctness(task: Task) -> tuple[str, str]:
    """What makes two tasks the same kind of task: operations and goal, both with their entities masked."""
    return str(task.difficulty["signature"]), str(task.difficulty["structure"])


def chosen(tasks: Sequence[Task], most: int | None) -> Choice:
    """At most `most` of the tasks: one of each kind, rare kinds first, then a second one of each, ..."""
    kinds: defaultdict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in tasks:
        kinds[distinctness(task)].append(task)
    rare_first = sorted(kinds.items(), key=lambda kind: (len(kind[1]), kind[0]))
    rounds = max(map(len, kinds.values()), default=0)
    in_turn = [of_kind[number] for number in range(rounds) for _, of_kind in rare_first if number < len(of_kind)]
    picked = in_turn if most is None else in_turn[:most]
    left_out = len(in_turn) - len(picked)
    return Choice(tuple(picked), {"more_than_asked_for": left_out} if left_out else {})
