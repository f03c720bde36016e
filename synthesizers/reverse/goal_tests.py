"""T8: the environment's expert solves the task from its goal, and from no other text.

An expert that plans from the script or the check solves it whatever the goal says. So it plays
twice more with the same script and check: with the goal of another task, and with the letters of
its own goal in a drawn order. Where either passes nobody has read the goal: T8 is undefined.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from synth.boundary import FaultError, guard_async
from synth.envs.audit.solutions import Solution, solution
from synth.envs.bots import expert
from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import MAX_TURNS, Transcript, perform
from synth.schemas import AgentTurn, Check, Env, Fault, Task
from synth.synthesizers.rejected import RejectedError
from synth.synthesizers.reverse.check_predicates import check_in, verdict

ANOTHER, LETTERS = "the goal of another task", "letters in a drawn order"
MOST_OF_ITS_TURNS = 2
"""An expert that reads no goal does what it did before, in as many turns; one that is lost in a
goal of another task is left there.
"""
OtherGoal = Callable[[Task], Awaitable[str | None]]
"""The goal of a task with another check; None where the exploration knows none."""


async def solved(
    bench: ConformanceRig, task: Task, other_goal: OtherGoal
) -> tuple[Solution, dict[str, Any]]:
    """T8: the environment's own expert, who knows no more than an agent, solves the task. Without
    an expert, or with one that reads no goals, T8 does not apply; without one the walk is the
    solution. Raises `RejectedError`.
    """

    known = await solution(bench, task)
    planned = bench.claims("expert")

    if known is not None and not planned:
        return known, verdict(None, why="the world has no expert")
    if known is not None:
        turns = len(known.transcript.actions)

        read = await _read(bench, task, other_goal, MOST_OF_ITS_TURNS * turns)

        return known, {**read, "turns": turns}

    if not planned:
        raise RejectedError(
            "walk_does_not_pass",
            "the operations themselves do not pass the check, and the world has no expert",
        )

    # played once more, for the reason that the error names
    found = await bench.played(task, expert("correct"), max_turns=MAX_TURNS)
    raise RejectedError("T8_not_solved_from_the_goal", failure(found))


async def _read(
    bench: ConformanceRig, task: Task, other_goal: OtherGoal, most_turns: int
) -> dict[str, Any]:
    """Whether a task that the expert solves is not solved from other texts."""
    other = await other_goal(task)

    if other is None:
        return verdict(None, why="no other goal is known to try the expert with")

    for name, text in {ANOTHER: other, LETTERS: letters_of(task)}.items():
        if await passes_with(bench, task, text, most_turns):
            return verdict(None, why=f"the expert does not read goals: it passes with {name}")

    return verdict(fails_with=[ANOTHER, LETTERS])


async def asks_for_another(env: Env, check: Check, turns: Sequence[AgentTurn], task: Task) -> bool:
    """Whether a check is another than the task's, and the turns that it was derived from do not
    pass the task's own on their way.
    """
    own = check_in(task)

    if (check.required, check.told, check.refusals) == (own.required, own.told, own.refusals):
        return False

    return not (await perform(env, task, turns)).verdict.passed


async def passes_with(bench: ConformanceRig, task: Task, goal: str, most_turns: int) -> bool:
    """Whether the expert passes a task's check when it is told this goal in the place of the
    task's own. One that breaks at a text which it cannot read has not passed.
    """
    told = replace(task, goal=goal)
    try:
        found = await guard_async(
            Fault.ENVIRONMENT,
            "expert",
            lambda: bench.played(told, expert("correct"), max_turns=most_turns),
            None,
        )
    except FaultError as error:
        if error.fault is not Fault.ENVIRONMENT:
            raise
        return False

    return found.verdict.passed is True


def letters_of(task: Task) -> str:
    """The letters of a task's goal in a drawn order: a text that says nothing."""
    drawn = Random(f"letters {task.task_id}")

    return "".join(drawn.sample(task.goal, len(task.goal))).strip()


def failure(transcript: Transcript) -> str:
    """The parts of a verdict that failed, with their evidence."""
    failed = (part for part in transcript.verdict.parts if not part.passed)
    told = "; ".join(f"{part.name}: {', '.join(part.evidence)}" for part in failed)[:300]

    return told or f"after {len(transcript.actions)} turns"


def why_undefined(difficulty: Mapping[str, Any]) -> str | None:
    """Why T8 says nothing about a task; None where it has passed."""
    found = difficulty["tests"]["T8"]

    return None if found["passed"] else str(found.get("why"))
