"""Which of all verified tasks a stage keeps, distinct ones first; and its figures: windows by what
became of them, what the tasks are like, what was covered.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.schemas.canonical import content_hash
from synth.schemas.task import Task
from synth.synthesizers.reverse.deriving import Explored

TESTS = ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8")
MOST_EXAMPLES = 40


@dataclass(frozen=True)
class TaskChoice:
    """The tasks that are kept, and how many were left out for which reason."""

    tasks: tuple[Task, ...]
    left_out: dict[str, int]


def distinctness(task: Task) -> tuple[str, str]:
    """What makes two tasks the same kind of task: operations and goal, both with their entities
    masked.
    """
    return str(task.difficulty["signature"]), str(task.difficulty["structure"])


def chosen(
    tasks: Sequence[Task], most: int | None, told_apart_by: Collection[str] = ()
) -> TaskChoice:
    """At most `most` of the tasks: one of each kind, rare kinds first, then a second one of each,
    ...

    Of tasks that only their seed and the settings `told_apart_by` tell apart
    (`EnvEntry.told_apart_by`), the first one alone.
    """
    distinct = _distinct(tasks, told_apart_by) if told_apart_by else tasks
    sizes, before = Counter(map(distinctness, distinct)), Counter[tuple[str, str]]()

    def turn(task: Task) -> tuple[int, int, tuple[str, str]]:
        kind = distinctness(task)
        before[kind] += 1
        return before[kind], sizes[kind], kind

    picked = sorted(distinct, key=turn)[:most]
    left_out = {
        "same_as_another": len(tasks) - len(distinct),
        "more_than_asked_for": len(distinct) - len(picked),
    }
    return TaskChoice(tuple(picked), {reason: count for reason, count in left_out.items() if count})


def _distinct(tasks: Sequence[Task], told_apart_by: Collection[str]) -> Sequence[Task]:
    """The first task of each goal, check, user and start."""
    first: dict[str, Task] = {}
    for task in tasks:
        start = {name: one for name, one in task.env_config.items() if name not in told_apart_by}
        same = [task.goal, task.check, task.script, start, task.split, task.benchmark]
        first.setdefault(content_hash(same), task)
    return list(first.values())


def report_of(
    explored: Sequence[Explored], choice: TaskChoice, also: Sequence[str], **more: Any
) -> Mapping[str, Any]:
    """The stage's report; `explored` are the rows of its explorations."""
    rejected = _sums(explored, "rejected") + Counter(choice.left_out)
    examples: dict[str, str] = {}
    for reason, example in (one for row in explored for one in row.examples.items()):
        if len(examples) < MOST_EXAMPLES:
            examples.setdefault(reason, example)
    faults = Counter(row.fault for row in explored if row.fault is not None)
    about = _of_tasks(choice.tasks)
    details = {
        "explorations": len(explored),
        "without_operations": sum(not row.operations and row.fault is None for row in explored),
        "faults": dict(sorted(faults.items())),
        "examples": dict(sorted(examples.items())),
        **about,
        "coverage": _coverage(explored, choice.tasks),
    }
    return method_report(
        "windows",
        sum(row.attempted for row in explored),
        len(choice.tasks),
        dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        also=[*(in_words(about) if choice.tasks else ()), *also],
        details=details,
        **more,
    )


def in_words(found: Mapping[str, Any]) -> Iterator[str]:
    """For the funnel: how many kinds of tasks, how large, how many refusals, what the tests of
    mutants came to.
    """
    yield (
        f"{counted_noun(found['signatures'], 'operation signature')}, "
        f"{counted_noun(found['kinds'], 'kind')} with goals"
    )
    yield (
        f"{100 * found['several_operations'] // found['tasks']} % of several operations, "
        f"{found['refusals']} with a refusal, {counted_noun(found['questions'], 'question')}"
    )
    yield f"{found['mutants']['killed']:,} of {found['mutants']['made']:,} mutants killed"


def _of_tasks(tasks: Sequence[Task]) -> dict[str, Any]:
    about = [task.difficulty for task in tasks]
    passed = {name: [one["tests"][name]["passed"] for one in about] for name in TESTS}
    made, killed = (sum(one["tests"]["T5"][key] for one in about) for key in ("mutants", "killed"))
    return {
        "tasks": len(tasks),
        "signatures": len({one["signature"] for one in about}),
        "kinds": len(set(map(distinctness, tasks))),
        "several_operations": sum(one["operations"] > 1 for one in about),
        "refusals": sum(one["refusals"] > 0 for one in about),
        "questions": sum(one["question"] for one in about),
        "tests": {
            name: {"passed": verdicts.count(True), "does_not_apply": verdicts.count(None)}
            for name, verdicts in passed.items()
        },
        "mutants": {
            "made": made,
            "killed": killed,
            "share": round(killed / made, 4) if made else None,
        },
    }


def _coverage(explored: Sequence[Explored], tasks: Sequence[Task]) -> dict[str, Any]:
    """Calls by tool while exploring; tools that changed something, with how many tasks use them;
    refusals; changed facts by pattern.
    """
    used = Counter(tool for task in tasks for tool in task.difficulty["tools"])

    def sums(counts: str) -> dict[str, int]:
        return dict(sorted(_sums(explored, counts).items()))

    def with_tasks(counts: str, each: str) -> dict[str, Any]:
        found = sums(counts).items()
        return {name: {each: count, "tasks": used[name]} for name, count in found if name}

    return {
        "tools": sums("called"),
        "writing_tools": with_tasks("changed", "changed"),
        "look_ups": with_tasks("looked_up", "new"),
        "refused": sums("refused"),
        "facts": sums("facts"),
    }


def _sums(explored: Sequence[Explored], counts: str) -> Counter[str]:
    """The counts of that name over all explorations."""
    total = Counter[str]()
    for row in explored:
        total.update(getattr(row, counts) or {})
    return total
