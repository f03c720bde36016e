"""T1 to T3 of a task that asks for an answer: not told at the start, told after the look-ups, not
told without any one of them.
"""

from collections.abc import Iterator, Sequence

from synth.envs.transcript import perform
from synth.schemas.check import ToldFact
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.task import Task
from synth.synthesizers.reverse.outcome import Rejected, TaskTests
from synth.synthesizers.reverse.replaying import Segment
from synth.synthesizers.reverse.state_tests import StateTests

TOLD = "told"
"""The part of a world's verdict that is about answers; where it has none, the verdict itself."""


async def told_tests(
    env: Env, task: Task, segment: Segment, said: AgentTurn
) -> StateTests | Rejected:
    """Plays the segment's turns in the task's own world and gives the answer, with each look-up left
    out in turn.

    The answer must not stand in the goal. A look-up without which the answer counts all the same is
    not left out of the window: a
    question has one part per look-up, so that nothing would be left to be asked.
    """
    told = task.check.told if task.check is not None else ()
    stated = next(
        (form for fact in told for form in _forms(fact) if form in task.goal.lower()), None
    )
    if stated is not None:
        return Rejected("answer_in_the_goal", f"{stated}: {task.goal}")
    await env.reset(task)
    if (await env.check()).passed or await _is_told(env, task, (said,)):
        return Rejected("T1_true_at_the_start", task.goal)
    if not await _is_told(env, task, (*segment.turns, said)):
        return Rejected("T2_false_after_the_walk", f"{said} {task.goal}")
    for number in range(len(segment.operations)):
        if await _is_told(env, task, (*segment.without(number), said)):
            return Rejected("T3_known_without_the_look_up", task.goal)
    return StateTests(
        {
            "T1": TaskTests(True, {}),
            "T2": TaskTests(True, {}),
            "T3": TaskTests(True, {"ablated": len(segment.operations)}),
        },
        (),
    )


async def _is_told(env: Env, task: Task, turns: Sequence[AgentTurn]) -> bool:
    verdict = (await perform(env, task, turns)).verdict
    return next((part.passed for part in verdict.parts if part.name == TOLD), verdict.passed)


def _forms(fact: ToldFact) -> Iterator[str]:
    """How a value may be written, in lower case; amounts are in cents."""
    if fact.type == "money" and isinstance(fact.value, int):
        yield f"{fact.value / 100:.2f}"
        yield f"${fact.value / 100:g} "
        return
    yield str(fact.value).lower()
    yield str(fact.value).lower().replace("_", " ")
