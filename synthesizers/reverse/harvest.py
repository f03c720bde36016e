"""One exploration from its walk to its tasks, with everything that is counted on the way."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import msgspec

from synth.envs.fact_pattern import pattern_of
from synth.schemas.reverse import Operation
from synth.schemas.task import Task
from synth.synthesizers.reverse.check_predicates import (
    RejectedError,
)
from synth.synthesizers.reverse.deriving import Derivation, Ground
from synth.synthesizers.reverse.experience import Experience, tool_of
from synth.synthesizers.reverse.exploration import Walk, explored
from synth.synthesizers.reverse.windows import operation_signature, windows

DEEDS_PER_QUESTION = 4
"""Windows of operations for one of look-ups: with all of these, half of the tasks are questions
(measured on the storefront).
"""


class Explored(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of an exploration: windows by what became of them, the ids of its tasks, how
    often each tool was called, changed or showed something, was refused, and the changed facts.
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


async def harvested(
    ground: Ground, steps: int, most_windows: int, most_tasks: int, experience: Experience
) -> tuple[list[Task], Explored]:
    """Explores, then tries windows in a drawn order until there are tasks enough.

    A window whose operations look like those of a task that is there already is not tried.
    """
    draw = Random(f"reverse_task {ground.seed}")
    env = ground.world.open(ground.env_config)
    tasks: list[Task] = []
    rejected: list[RejectedError] = []
    try:
        walk = await explored(env, ground.zones, steps, draw, experience)
        derivation = Derivation(ground, env, walk)
        seen: set[str] = set()
        for wanted in _windows(walk, ground, draw):
            if len(tasks) + len(rejected) == most_windows or len(tasks) == most_tasks:
                break
            signature = operation_signature(wanted, walk.start)
            if signature in seen:
                continue
            try:
                task = await derivation.task(wanted)
                if task.difficulty["signature"] in seen:
                    raise RejectedError("like_another")
                seen |= {signature, str(task.difficulty["signature"])}
                tasks.append(task)
            except RejectedError as why:
                rejected.append(why)
            await asyncio.sleep(0)
    finally:
        await env.close()
    return tasks, _explored(tasks, rejected, walk, ground)


def _explored(
    tasks: Sequence[Task], rejected: Sequence[RejectedError], walk: Walk, ground: Ground
) -> Explored:
    examples = {why.reason: why.example for why in reversed(rejected) if why.example}
    calls = [(call.name, step) for step in walk.steps for call in step.turn.tool_calls]
    alone = [(name, step) for name, step in calls if len(step.turn.tool_calls) == 1]
    declared = ground.world.spec.facts
    facts = ({pattern_of(declared, path) or path for path in step.changed} for step in walk.steps)
    return Explored(
        attempted=len(tasks) + len(rejected),
        rejected=_counts(why.reason for why in rejected),
        examples=dict(sorted(examples.items())),
        tasks=tuple(task.task_id for task in tasks),
        steps=len(walk.steps),
        operations=len(walk.operations),
        looked_up=_counts(tool_of(read.turn) for read in walk.reads),
        called=_counts(name for name, _ in calls),
        changed=_counts(name for name, step in alone if step.asked),
        refused=_counts(f"{name}!{step.denied}" for name, step in calls if step.denied),
        facts=_counts(pattern for patterns in facts for pattern in patterns),
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _windows(walk: Walk, ground: Ground, draw: Random) -> list[list[Operation]]:
    """What may become a task, in a drawn order: operations that belong together, and look-ups whose
    answers the world can be asked for, of these one for every `DEEDS_PER_QUESTION`.
    """
    asked = ground.world.questions
    tools = asked.tools if ground.asks and asked is not None else frozenset[str]()
    reads = [
        read
        for read in walk.reads
        if len(read.turn.tool_calls) == 1 and tool_of(read.turn) in tools
    ]
    deeds, questions = (
        [
            [among[at] for at in window]
            for window in windows(among, walk.start, ground.longest, draw)
        ]
        for among in (walk.operations, reads)
    )
    if not questions:
        return deeds
    found = deeds + questions[: max(len(deeds) // DEEDS_PER_QUESTION, 1)]
    draw.shuffle(found)
    return found
