"""From an exploration to its tasks: a walk, its windows, and of each window a task that passed its
tests; with everything that is counted on the way.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import perform
from synth.envs.world import EnvEntry
from synth.schemas.check import Facts
from synth.schemas.environment import Env
from synth.schemas.reverse import Draft, NoGoal, Operation, Window
from synth.schemas.task import Origin, Task
from synth.synthesizers.reverse.check_predicates import (
    RejectedError,
    check_in,
    check_of,
    constraint_structure,
)
from synth.synthesizers.reverse.check_tests import first_tests, mutants_fail
from synth.synthesizers.reverse.choosing import Explored, explored_row
from synth.synthesizers.reverse.exploration import Experience, Walk, explored, tool_of
from synth.synthesizers.reverse.solution_tests import (
    SolvedTask,
    asks_for_an_answer,
    bots_fail,
    not_guessed,
    solved,
)
from synth.synthesizers.reverse.subtrajectories import (
    Cutter,
    Segment,
    windows,
)

CALL_LIMIT_S = 10.0
DEEDS_PER_QUESTION = 4
"""Windows of operations for one of look-ups: with all of these, half of the tasks are questions
(measured on the storefront).
"""


@dataclass(frozen=True)
class Ground:
    """Where an exploration takes place, and what its tasks inherit: settings of the start state,
    seed, split and benchmark; its name.

    `longest` is the most operations that a task joins; `asks`: whether who writes the goals can ask
    questions.
    """

    world: EnvEntry
    env: str
    env_config: Mapping[str, Any]
    seed: int
    split: str | None
    benchmark: str | None
    exploration: str
    longest: int
    asks: bool
    write: Callable[[Window], Awaitable[Draft | NoGoal]]

    @property
    def zones(self) -> Mapping[str, str]:
        """The environment's, with what a goal may ask for as if it were required."""
        return {**self.world.spec.facts, **dict.fromkeys(self.world.on_request, "required")}


async def exploration_tasks(
    ground: Ground, steps: int, most_windows: int, most_tasks: int, experience: Experience
) -> tuple[list[Task], Explored]:
    """Explores, then tries windows in a drawn order until there are tasks enough.

    A window whose operations look like those of a task that is there already is not tried.
    """
    draw = Random(f"reverse_task {ground.seed}")
    env = ground.world.open(ground.env_config)
    tasks: list[Task] = []
    rejected: list[RejectedError] = []
    seen: set[str] = set()
    try:
        walk = await explored(env, ground.zones, steps, draw, experience)
        derivation = Derivation(ground, env, walk)
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
    return tasks, explored_row(tasks, rejected, walk, ground.world.spec.facts)


def _windows(walk: Walk, ground: Ground, draw: Random) -> list[list[Operation]]:
    """What may become a task, in a drawn order: operations that belong together, and look-ups whose
    answers the environment can be asked for, of these one for every `DEEDS_PER_QUESTION`.
    """
    asked = ground.world.questions
    tools = asked.tools if ground.asks and asked is not None else frozenset[str]()
    reads = [
        read
        for read in walk.reads
        if len(read.turn.tool_calls) == 1 and tool_of(read.turn) in tools
    ]
    deeds, questions = (
        [[among[at] for at in one] for one in windows(among, walk.start, ground.longest, draw)]
        for among in (walk.operations, reads)
    )
    if not questions:
        return deeds
    found = deeds + questions[: max(len(deeds) // DEEDS_PER_QUESTION, 1)]
    draw.shuffle(found)
    return found


@dataclass(frozen=True)
class Derivation:
    """Tasks out of the windows of one walk; `env` is the environment that was walked."""

    ground: Ground
    env: Env
    walk: Walk

    async def task(self, wanted: Sequence[Operation]) -> Task:
        """One window: shrunk to what its goal needs, tested in the order of what a test costs.
        Raises `RejectedError`.
        """
        cutter = Cutter(self.env, self.ground.zones, self.walk)
        segment = await cutter.segment(wanted, self.ground.longest)
        if segment is None:
            raise RejectedError("depends_on_before")
        while True:
            draft, task = await self._drafted(segment)
            asks = all(operation.shown is not None for operation in segment.operations)
            tests, incidental = await first_tests(
                self.env, task, segment, draft.answer if asks else None
            )
            if not incidental:
                return await self._tested(segment, draft, task, tests)
            shorter = await cutter.shortened(segment, incidental)
            if shorter is None:
                names = (segment.operations[at].turn.tool_calls[0].name for at in incidental)
                raise RejectedError("T3_incidental", "; ".join(names))
            segment = shorter

    async def _drafted(self, segment: Segment) -> tuple[Draft, Task]:
        """The window's goal and its task, before it is tested."""
        ground, walk = self.ground, self.walk
        window = Window(
            ground.env,
            ground.env_config,
            ground.seed,
            walk.opening,
            walk.turns,
            segment.operations,
            segment.start,
            segment.end,
        )
        draft = await ground.write(window)
        if isinstance(draft, NoGoal):
            raise RejectedError(f"no_goal_{draft.reason}")
        check = check_of(segment.start, segment.end, draft, ground.world.spec.facts)
        denied = any(operation.denied is not None for operation in segment.operations)
        if denied and not check.refusals:
            raise RejectedError("refusal_not_checked", draft.goal)
        if not (check.required or check.refusals or check.told):
            raise RejectedError("nothing_to_check", draft.goal)
        task = Task.identified(
            env=ground.env,
            env_config=dict(ground.env_config if draft.env_config is None else draft.env_config),
            goal=draft.goal,
            seed=ground.seed if draft.seed is None else draft.seed,
            origin=Origin.REVERSE,
            check=check,
            script=draft.script,
            split=ground.split,
            benchmark=ground.benchmark,
        )
        return draft, task

    async def _tested(
        self, segment: Segment, draft: Draft, task: Task, tests: dict[str, Any]
    ) -> Task:
        """T8, T7, T6, T4 and T5; the task with all results, and its operations as gold where they
        pass as they are.
        """
        world, turns = self.ground.world, segment.turns
        calls = tuple(call for turn in turns for call in turn.tool_calls)
        passes = (await perform(self.env, task, turns)).verdict.passed
        gold = calls if passes and calls and len(calls) == len(turns) else None
        bench = ConformanceRig(world, task.env_config, self.ground.seed, (task,), CALL_LIMIT_S)
        planned = bench.claims("expert")
        with_gold = task if planned else msgspec.structs.replace(task, gold=gold)
        known, t8 = await solved(bench, with_gold)
        t7 = not_guessed(world, task)
        t6 = await bots_fail(bench, task)
        case = SolvedTask(bench, self.env, task, self.walk, segment, known)
        t4 = await case.others_pass()
        t5 = await mutants_fail(case)
        all_tests = {**tests, "T4": t4, "T5": t5, "T6": t6, "T7": t7, "T8": t8}
        difficulty = {**self._described(segment, draft, task), "tests": all_tests}
        about = {**msgspec.structs.asdict(task), "difficulty": difficulty, "gold": gold}
        del about["task_id"]
        return Task.identified(**about)

    def _described(self, segment: Segment, draft: Draft, task: Task) -> dict[str, Any]:
        """What a task's `difficulty` says of it beside its tests."""
        operations = segment.operations
        tools = [call.name for operation in operations for call in operation.turn.tool_calls]
        return {
            "method": "reverse_task",
            "exploration": self.ground.exploration,
            "operations": len(operations),
            "refusals": len(draft.refusals),
            "question": asks_for_an_answer(task),
            "signature": operation_signature(operations, segment.start),
            "structure": draft.structure or constraint_structure(check_in(task)),
            "tools": list(dict.fromkeys(tools)),
            "low_level": list(draft.low_level),
        }


def operation_signature(operations: Sequence[Operation], start: Facts) -> str:
    """The operations with their entities masked: tools, the columns that they change, the rules by
    which they were refused; what was only looked up ends in a question mark.

    In a fixed order where the operations themselves may stand in any: two windows that do the same
    are one.
    """
    return " + ".join(sorted(_shape(operation, start) for operation in operations))


def _shape(operation: Operation, start: Facts) -> str:
    tools = "/".join(call.name for call in operation.turn.tool_calls) or "text"
    if operation.denied is not None:
        return f"{tools}!{operation.denied}"
    if operation.shown is not None:
        return f"{tools}?"
    parts = set()
    for path in operation.changed:
        table, _, column = path.split("/", 2)
        parts.add(f"{'' if path in start else '+'}{table}.{column}")
    return f"{tools}({', '.join(sorted(parts))})"
