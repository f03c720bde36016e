"""T7: the commonest answer to a kind of question is right seldom enough, over the worlds of a
hundred seeds.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from synth.envs.world import EnvEntry
from synth.schemas.check import ToldFact
from synth.schemas.task import Task
from synth.synthesizers.reverse.outcome import Rejected, TaskTests

SEEDS = 100
MOST_SEEDS = 200
"""Worlds that are looked at until the question could be asked in `SEEDS` of them."""
MOST_GUESSED = 0.2
"""Share of the worlds in which the commonest answer may be the right one."""
NO_ANSWER = TaskTests(
    None, {"why": "the task asks for a change or a refusal, not for an answer alone"}
)


def asks_for_an_answer(task: Task) -> bool:
    """Whether nothing but what the agent says decides."""
    return (
        task.check is not None
        and bool(task.check.told)
        and not task.check.required
        and not task.check.refusals
    )


def not_guessed(world: EnvEntry, task: Task) -> TaskTests | Rejected:
    """How often the commonest answer to the task's question is right; where fewer than `SEEDS`
    worlds answer it, that is not known.
    """
    if not asks_for_an_answer(task):
        return NO_ANSWER
    if world.questions is None:
        return Rejected("T7_not_judged", task.goal)
    answers = Counter[bytes]()
    for seed in range(MOST_SEEDS):
        told = world.questions.elsewhere(task, seed)
        if told is not None:
            answers[_said(told)] += 1
        if answers.total() == SEEDS:
            break
    else:
        return Rejected("T7_too_few_worlds", f"{answers.total()}: {task.goal}")
    share = max(answers.values()) / SEEDS
    if share > MOST_GUESSED:
        return Rejected("T7_answer_can_be_guessed", f"{share:.2f}: {task.goal}")
    return TaskTests(True, {"commonest_answer": round(share, 3), "of": SEEDS})


def _said(told: Sequence[ToldFact]) -> bytes:
    return msgspec.json.encode([(fact.type, fact.value) for fact in told])
