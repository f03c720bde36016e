"""T1 to T3, on facts alone: false at the start, true after the operations, false without any one of
them.
"""

from dataclasses import dataclass

from synth.envs.echo_check import state_verdicts
from synth.schemas.check import Check, Facts
from synth.schemas.environment import Env
from synth.schemas.task import Task
from synth.synthesizers.reverse.outcome import Rejected, TaskTests
from synth.synthesizers.reverse.replaying import Segment, played


@dataclass(frozen=True)
class StateTests:
    """The verdicts by name; `incidental` are operations without which the state is right all the
    same.
    """

    tests: dict[str, TaskTests]
    incidental: tuple[int, ...]


async def state_tests(env: Env, task: Task, segment: Segment) -> StateTests | Rejected:
    """Plays the segment's turns in the task's own world, whole and with each operation left out in
    turn.
    """
    if task.check is None:
        raise ValueError(f"task {task.task_id} has no check")
    await env.reset(task)
    at_start = await env.check()
    start = dict(await env.facts())
    if at_start.passed or (task.check.required and holds(task.check, start, start)):
        return Rejected("T1_true_at_the_start", task.goal)
    done = await played(env, segment.turns, task)
    if not holds(task.check, done.start, done.end):
        return Rejected("T2_false_after_the_walk", _broken(task.check, done.start, done.end))
    incidental = []
    ablated = [
        number for number, operation in enumerate(segment.operations) if operation.denied is None
    ]
    for number in ablated:
        without = await played(env, segment.without(number), task)
        if holds(task.check, without.start, without.end):
            incidental.append(number)
    tests = {
        "T1": TaskTests(True, {}),
        "T2": TaskTests(True, {}),
        "T3": TaskTests(not incidental if ablated else None, {"ablated": len(ablated)}),
    }
    return StateTests(tests, tuple(incidental))


def holds(check: Check, start: Facts, end: Facts) -> bool:
    """Whether the state part of a check passes."""
    return all(part.passed for part in state_verdicts(check, start, end))


def _broken(check: Check, start: Facts, end: Facts) -> str:
    return "; ".join(
        f"{part.name}: {', '.join(part.evidence)}"
        for part in state_verdicts(check, start, end)
        if not part.passed
    )[:300]
