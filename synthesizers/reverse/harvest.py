"""One exploration from its walk to its tasks, with everything that is counted on the way."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from synth.envs.fact_pattern import pattern_of
from synth.schemas.reverse import Operation
from synth.schemas.task import Task
from synth.synthesizers.reverse.deriving import Ground, derived
from synth.synthesizers.reverse.experience import Experience, tool_of
from synth.synthesizers.reverse.exploration import Exploration, explored
from synth.synthesizers.reverse.outcome import Derived
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


@dataclass
class Harvest:
    """The tasks of an exploration; windows by what became of them; what was called, changed and
    refused in the walk.
    """

    tasks: list[Task] = field(default_factory=list)
    attempted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    coverage: dict[str, Any] = field(default_factory=dict)

    def refuse(self, reason: str, example: str = "") -> None:
        """Counts a window that became no task."""
        self.rejected[reason] += 1
        if example:
            self.examples.setdefault(reason, example)

    def as_stored(self, fault: str | None) -> Explored:
        """As the exploration's row holds it."""
        return Explored(
            attempted=self.attempted,
            rejected=dict(sorted(self.rejected.items())),
            examples=dict(sorted(self.examples.items())),
            tasks=tuple(task.task_id for task in self.tasks),
            **self.coverage,
            fault=fault or None,
        )


async def harvested(
    ground: Ground, steps: int, most_windows: int, most_tasks: int, experience: Experience
) -> Harvest:
    """Explores, then tries windows in a drawn order until there are tasks enough.

    A window whose operations look like those of a task that is there already is not tried.
    """
    draw = Random(f"reverse_task {ground.seed}")
    env = ground.world.open(ground.env_config)
    harvest = Harvest()
    try:
        walked = await explored(env, ground.zones, steps, draw, experience)
        harvest.coverage = coverage(walked, ground)
        seen: set[str] = set()
        for wanted in _windows(walked, ground, draw):
            if harvest.attempted == most_windows or len(harvest.tasks) == most_tasks:
                break
            signature = operation_signature(wanted, walked.start)
            if signature in seen:
                continue
            harvest.attempted += 1
            found = await derived(ground, env, walked, wanted)
            if not isinstance(found, Derived):
                harvest.refuse(found.reason, found.example)
            elif found.task.difficulty["signature"] in seen:
                harvest.refuse("like_another")
            else:
                seen |= {signature, str(found.task.difficulty["signature"])}
                harvest.tasks.append(found.task)
            await asyncio.sleep(0)
    finally:
        await env.close()
    return harvest


def _windows(walked: Exploration, ground: Ground, draw: Random) -> list[list[Operation]]:
    """What may become a task, in a drawn order: operations that belong together, and look-ups whose
    answers the world can be asked for,
    of these one for every `DEEDS_PER_QUESTION`.
    """
    asked = (
        ground.world.questions.tools
        if ground.asks and ground.world.questions is not None
        else frozenset[str]()
    )
    reads = [
        read
        for read in walked.reads
        if len(read.turn.tool_calls) == 1 and tool_of(read.turn) in asked
    ]
    deeds, questions = (
        [
            [among[number] for number in window]
            for window in windows(among, walked.start, ground.longest, draw)
        ]
        for among in (walked.operations, reads)
    )
    if not questions:
        return deeds
    found = deeds + questions[: max(len(deeds) // DEEDS_PER_QUESTION, 1)]
    draw.shuffle(found)
    return found


def coverage(walked: Exploration, ground: Ground) -> dict[str, Any]:
    """Calls by tool, with those that changed what a goal can be about, those that were refused, and
    look-ups that showed something new;
    changed facts by pattern.
    """
    called, changed, refused, facts = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    by_turn = {operation.at: operation for operation in walked.operations}
    for at, step in enumerate(walked.steps):
        operation = by_turn.get(at)
        for call in step.turn.tool_calls:
            called[call.name] += 1
            changed[call.name] += (
                operation is not None
                and operation.denied is None
                and len(step.turn.tool_calls) == 1
            )
            if operation is not None and operation.denied is not None:
                refused[f"{call.name}!{operation.denied}"] += 1
        facts.update({pattern_of(ground.world.spec.facts, path) or path for path in step.changed})
    return {
        "steps": len(walked.steps),
        "operations": len(walked.operations),
        "looked_up": dict(sorted(Counter(tool_of(read.turn) for read in walked.reads).items())),
        "called": dict(sorted(called.items())),
        "changed": {name: count for name, count in sorted(changed.items()) if count},
        "refused": dict(sorted(refused.items())),
        "facts": dict(sorted(facts.items())),
    }
