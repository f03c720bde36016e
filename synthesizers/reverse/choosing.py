"""Which of all verified tasks a stage keeps: distinct ones first; and T7, for which all of them must be known."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from schemas.task import Task
from synthesizers.reverse.outcome import Tested

MOST_GUESSED = 0.2
"""Share of the tasks of one structure whose answer may be the commonest one."""


@dataclass(frozen=True)
class Choice:
    """The tasks that are kept, and how many were left out for which reason."""

    tasks: tuple[Task, ...]
    left_out: dict[str, int]


def distinctness(task: Task) -> tuple[str, str]:
    """What makes two tasks the same kind of task: operations and goal, both with their entities masked."""
    return str(task.difficulty["signature"]), str(task.difficulty["structure"])


def chosen(tasks: Sequence[Task], most: int | None) -> Choice:
    """At most `most` of the tasks whose answer cannot be guessed: one of each kind, rare kinds first, then a second one of each, ..."""
    kept, guessed = _not_guessed(tasks)
    kinds: defaultdict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in kept:
        kinds[distinctness(task)].append(task)
    rare_first = sorted(kinds.items(), key=lambda kind: (len(kind[1]), kind[0]))
    rounds = max(map(len, kinds.values()), default=0)
    in_turn = [of_kind[number] for number in range(rounds) for _, of_kind in rare_first if number < len(of_kind)]
    picked = in_turn if most is None else in_turn[:most]
    left_out = {"T7_answer_can_be_guessed": guessed, "more_than_asked_for": len(in_turn) - len(picked)}
    return Choice(tuple(picked), {reason: count for reason, count in left_out.items() if count})


def _not_guessed(tasks: Sequence[Task]) -> tuple[list[Task], int]:
    """T7: tasks that ask for an answer alone, where the commonest answer to that kind of question is right seldom enough."""
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        if asks_for_an_answer(task):
            answers[str(task.difficulty["structure"])][_answer(task)] += 1
    kept, guessed = [], 0
    for task in tasks:
        if not asks_for_an_answer(task):
            kept.append(task)
            continue
        found = answers[str(task.difficulty["structure"])]
        share = max(found.values()) / found.total()
        if share > MOST_GUESSED:
            guessed += 1
        else:
            kept.append(_with_t7(task, Tested(True, {"commonest_answer": round(share, 3), "of": found.total()})))
    return kept, guessed


def asks_for_an_answer(task: Task) -> bool:
    """Whether nothing but what the agent says decides."""
    return task.check is not None and bool(task.check.told) and not task.check.required and not task.check.refusals


def _answer(task: Task) -> str:
    told = task.check.told if task.check is not None else ()
    return msgspec.json.encode([fact.value for fact in told]).decode()


def _with_t7(task: Task, test: Tested) -> Task:
    tests = {**task.difficulty["tests"], "T7": test.as_stored()}
    fields = {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
    return Task.identified(**{**fields, "difficulty": {**task.difficulty, "tests": tests}})
