"""The figures of a stage that derives tasks: windows by what became of them, what the tasks are
like, what was covered.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.engine.numbers import counted_noun
from synth.schemas.task import Task
from synth.synthesizers.reverse.choosing import distinctness
from synth.synthesizers.reverse.harvest import Explored

TESTS = ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8")
MOST_EXAMPLES = 40


def method_report(
    harvests: Sequence[Explored], tasks: Sequence[Task], left_out: Mapping[str, int]
) -> dict[str, Any]:
    """The stage's report; `harvests` are the rows of its explorations, `left_out` what was not
    chosen of what they found.
    """
    rejected = Counter[str](left_out)
    for harvest in harvests:
        rejected.update(harvest.rejected)
    attempted = sum(harvest.attempted for harvest in harvests)
    return {
        "kind": "method",
        "unit": "windows",
        "attempted": attempted,
        "verified": len(tasks),
        "rejected": dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        "also": list(_in_words(_of_tasks(tasks))) if tasks else [],
        "details": {
            "explorations": len(harvests),
            "without_operations": sum(
                not harvest.operations and harvest.fault is None for harvest in harvests
            ),
            "faults": _faults(harvests),
            "examples": _examples(harvests),
            **_of_tasks(tasks),
            "coverage": _coverage(harvests, tasks),
        },
    }


def _in_words(found: Mapping[str, Any]) -> Iterator[str]:
    """For the funnel: how many kinds of tasks, how large, how many refusals, what the tests of
    mutants came to.
    """
    several, refusals, questions, count = (
        found["several_operations"],
        found["refusals"],
        found["questions"],
        found["tasks"],
    )
    yield (
        f"{counted_noun(found['signatures'], 'operation signature')}, "
        f"{counted_noun(found['kinds'], 'kind')} with goals"
    )
    yield (
        f"{100 * several // count} % of several operations, {refusals} with a refusal, "
        f"{counted_noun(questions, 'question')}"
    )
    yield f"{found['mutants']['killed']:,} of {found['mutants']['made']:,} mutants killed"


def _of_tasks(tasks: Sequence[Task]) -> dict[str, Any]:
    mutants = [task.difficulty["tests"]["T5"] for task in tasks]
    made, killed = sum(test["mutants"] for test in mutants), sum(test["killed"] for test in mutants)
    return {
        "tasks": len(tasks),
        "signatures": len({task.difficulty["signature"] for task in tasks}),
        "kinds": len({distinctness(task) for task in tasks}),
        "several_operations": sum(task.difficulty["operations"] > 1 for task in tasks),
        "refusals": sum(task.difficulty["refusals"] > 0 for task in tasks),
        "questions": sum(task.difficulty["question"] for task in tasks),
        "tests": {
            name: _verdicts([task.difficulty["tests"][name]["passed"] for task in tasks])
            for name in TESTS
        },
        "mutants": {
            "made": made,
            "killed": killed,
            "share": round(killed / made, 4) if made else None,
        },
    }


def _verdicts(passed: Sequence[bool | None]) -> dict[str, int]:
    return {
        "passed": sum(verdict is True for verdict in passed),
        "does_not_apply": sum(verdict is None for verdict in passed),
    }


def _coverage(harvests: Sequence[Explored], tasks: Sequence[Task]) -> dict[str, Any]:
    """Calls by tool while exploring; tools that changed something, with how many tasks use them;
    refusals; changed facts by pattern.
    """
    total = {
        name: Counter[str]() for name in ("called", "looked_up", "changed", "refused", "facts")
    }
    for harvest in harvests:
        for name, counts in total.items():
            counts.update(getattr(harvest, name) or {})
    used = Counter(tool for task in tasks for tool in task.difficulty["tools"])
    return {
        "tools": dict(sorted(total["called"].items())),
        "writing_tools": {
            name: {"changed": count, "tasks": used[name]}
            for name, count in sorted(total["changed"].items())
        },
        "look_ups": {
            name: {"new": count, "tasks": used[name]}
            for name, count in sorted(total["looked_up"].items())
            if name
        },
        "refused": dict(sorted(total["refused"].items())),
        "facts": dict(sorted(total["facts"].items())),
    }


def _faults(harvests: Sequence[Explored]) -> dict[str, int]:
    return dict(
        sorted(Counter(harvest.fault for harvest in harvests if harvest.fault is not None).items())
    )


def _examples(harvests: Sequence[Explored]) -> dict[str, str]:
    """The first example of each reason."""
    found: dict[str, str] = {}
    for harvest in harvests:
        for reason, example in harvest.examples.items():
            if len(found) < MOST_EXAMPLES:
                found.setdefault(reason, example)
    return dict(sorted(found.items()))
