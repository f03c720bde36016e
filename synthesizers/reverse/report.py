"""Reports the explorations of a stage: subtrajectories by outcome, the kept tasks, and the part of
the environment that was covered.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.schemas import Task
from synth.synthesizers.reverse.choosing import Explored, TaskChoice, distinctness
from synth.synthesizers.reverse.goal_tests import why_undefined

TESTS = ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8")
MOST_EXAMPLES = 40
"""Reasons of which an example is kept."""


def report_of(
    explored: Sequence[Explored], choice: TaskChoice, also: Sequence[str], **more: Any
) -> Mapping[str, Any]:
    """The stage's report, from the rows of its explorations."""
    rejected = Counter(_sums(explored, "rejected")) + Counter(choice.left_out)
    examples: dict[str, str] = {}
    for reason, example in (one for row in explored for one in row.examples.items()):
        if len(examples) < MOST_EXAMPLES:
            examples.setdefault(reason, example)

    about = _of_tasks(choice.tasks)
    faults = Counter(row.fault for row in explored if row.fault is not None)
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
    """Yields the funnel's lines: kinds of tasks, their size, refusals, mutants."""
    yield (
        f"{counted_noun(found['signatures'], 'operation signature')}, "
        f"{counted_noun(found['kinds'], 'kind')} with goals"
    )

    yield (
        f"{100 * found['several_operations'] // found['tasks']} % of several operations, "
        f"{found['refusals']} with a refusal, {counted_noun(found['questions'], 'question')}"
    )

    for why, count in found["T8_undefined"].items():
        yield f"T8 undefined for {counted_noun(count, 'task')}: {why}"

    yield f"{found['mutants']['killed']:,} of {found['mutants']['made']:,} mutants killed"


def _of_tasks(tasks: Sequence[Task]) -> dict[str, Any]:
    """Figures of the kept tasks."""
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
            name: {"passed": found.count(True), "does_not_apply": found.count(None)}
            for name, found in passed.items()
        },
        "T8_undefined": dict(sorted(Counter(filter(None, map(why_undefined, about))).items())),
        "mutants": {
            "made": made,
            "killed": killed,
            "share": round(killed / made, 4) if made else None,
        },
    }


def _coverage(explored: Sequence[Explored], tasks: Sequence[Task]) -> dict[str, Any]:
    """Calls by tool; tools that changed or showed something, each with the number of tasks that use
    it; refusals; changed facts by pattern.
    """

    used = Counter(tool for task in tasks for tool in task.difficulty["tools"])
    writing = _sums(explored, "changed")
    reading = _sums(explored, "looked_up")

    return {
        "tools": _sums(explored, "called"),
        "writing_tools": {
            name: {"changed": count, "tasks": used[name]} for name, count in writing.items() if name
        },
        "look_ups": {
            name: {"new": count, "tasks": used[name]} for name, count in reading.items() if name
        },
        "refused": _sums(explored, "refused"),
        "facts": _sums(explored, "facts"),
    }


def _sums(explored: Sequence[Explored], counts: str) -> dict[str, int]:
    """Sums one of the counts over all explorations."""
    total = Counter[str]()
    for row in explored:
        total.update(getattr(row, counts) or {})

    return dict(sorted(total.items()))
