"""The figures of an exploration, and the choice among all verified tasks, distinct ones first."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from synth.envs.fact_pattern import pattern_of
from synth.ledger.ledger import Score
from synth.schemas import Task, content_hash
from synth.synthesizers.rejected import RejectedError
from synth.synthesizers.reverse.exploration import Walk, tool_of

T = TypeVar("T")

METRIC = "reverse_task.exploration"
"""Metric of an exploration's figures, on its name."""
SOLVABLE = "t8_solvable"
"""Score of a task: 1 where the environment's expert solved it from its goal alone, null where the
environment has none.
"""


class Explored(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of an exploration: subtrajectories by outcome, the ids of its tasks, the changed
    facts, and how often each tool was called, changed or showed something, and was refused.
    """

    attempted: int
    rejected: Mapping[str, int]
    examples: Mapping[str, str]
    tasks: tuple[str, ...]
    steps: int
    operations: int
    looked_up: Mapping[str, int] | None = None
    called: Mapping[str, int] | None = None
    changed: Mapping[str, int] | None = None
    refused: Mapping[str, int] | None = None
    facts: Mapping[str, int] | None = None
    fault: str | None = None

    def as_score(self, exploration: str) -> Score:
        """The row of an exploration."""
        return Score(exploration, METRIC, float(len(self.tasks)), detail=self)


def explored_row(
    tasks: Sequence[Task],
    rejected: Sequence[RejectedError],
    walk: Walk,
    zones: Mapping[str, str],
) -> Explored:
    """Counts an exploration; `zones` are the facts that the environment declares."""

    def counts(names: Iterable[str]) -> dict[str, int]:
        return dict(sorted(Counter(names).items()))

    # reversed, so that the first example of a reason stays
    examples = {why.reason: why.example for why in reversed(rejected) if why.example}
    calls = [(call.name, step) for step in walk.steps for call in step.turn.tool_calls]
    facts = ({pattern_of(zones, path) or path for path in step.changed} for step in walk.steps)

    return Explored(
        attempted=len(tasks) + len(rejected),
        rejected=counts(why.reason for why in rejected),
        examples=dict(sorted(examples.items())),
        tasks=tuple(task.task_id for task in tasks),
        steps=len(walk.steps),
        operations=len(walk.operations),
        looked_up=counts(tool_of(read.turn) for read in walk.reads),
        called=counts(name for name, _ in calls),
        # of several calls in a turn it is not known which one changed something
        changed=counts(
            name for name, step in calls if step.asked and len(step.turn.tool_calls) == 1
        ),
        refused=counts(f"{name}!{step.denied}" for name, step in calls if step.denied),
        facts=counts(pattern for patterns in facts for pattern in patterns),
    )


class TaskChoice(msgspec.Struct, frozen=True):
    """The tasks that are kept, and how many were left out for which reason."""

    tasks: tuple[Task, ...]
    left_out: dict[str, int]

    def as_scores(self, stage: str) -> list[Score]:
        """A row per task on its T8, and one on the tasks that were left out."""
        passed = {task.task_id: task.difficulty["tests"]["T8"]["passed"] for task in self.tasks}
        solved = {name: None if one is None else float(one) for name, one in passed.items()}
        about = {"left_out": self.left_out}
        choice = Score(stage, f"{stage}.choice", float(len(passed)), detail=about)

        return [*(Score(name, SOLVABLE, value) for name, value in solved.items()), choice]


def distinctness(task: Task) -> tuple[str, str]:
    """Tasks are of one kind where this is equal: operations and goal, both with their entities
    masked.
    """
    return str(task.difficulty["signature"]), str(task.difficulty["structure"])


def chosen(
    tasks: Sequence[Task], most: int | None, told_apart_by: Collection[str] = ()
) -> TaskChoice:
    """Chooses at most `most` tasks: one of each kind, rare kinds first, then a second one of each,
    and so on.

    Of tasks that differ only in their seed and the settings `told_apart_by`
    (`EnvEntry.told_apart_by`), it takes the first one alone.
    """

    def identity(task: Task) -> str:
        """Tells a task apart: the same goal, check, user and start may come from other seeds."""
        if not told_apart_by:
            return task.task_id

        start = {name: one for name, one in task.env_config.items() if name not in told_apart_by}
        same = [task.goal, task.check, task.script, start, task.split, task.benchmark]

        return content_hash(same)

    first: dict[str, Task] = {}
    for task in tasks:
        first.setdefault(identity(task), task)

    sizes = Counter(map(distinctness, first.values()))
    rare_first = sorted(
        first.values(), key=lambda task: (sizes[distinctness(task)], distinctness(task))
    )
    picked = in_turns(rare_first, distinctness)[:most]
    left_out = {
        "same_as_another": len(tasks) - len(first),
        "more_than_asked_for": len(first) - len(picked),
    }

    return TaskChoice(tuple(picked), {why: count for why, count in left_out.items() if count})


def in_turns(items: Iterable[T], kind: Callable[[T], Hashable]) -> list[T]:
    """One item of each kind before a second one of any, and so on; otherwise in their order."""
    before = Counter[Hashable]()
    found = []
    for item in items:
        before[kind(item)] += 1
        found.append((before[kind(item)], item))

    return [item for _, item in sorted(found, key=lambda one: one[0])]
