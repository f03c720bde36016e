"""From a window of an exploration to a task that passed its tests."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import perform
from synth.envs.world import EnvEntry
from synth.schemas.check import Check
from synth.schemas.environment import Env
from synth.schemas.reverse import Draft, NoGoal, Operation, Window
from synth.schemas.task import Origin, Task
from synth.synthesizers.reverse.check_predicates import (
    RejectedError,
    check_of,
    constraint_structure,
    first_tests,
)
from synth.synthesizers.reverse.exploration import Walk
from synth.synthesizers.reverse.mutant_tests import mutants_fail
from synth.synthesizers.reverse.segments import Cutter, Segment
from synth.synthesizers.reverse.solution_tests import (
    SolvedTask,
    asks_for_an_answer,
    bots_fail,
    not_guessed,
    solved,
)
from synth.synthesizers.reverse.windows import operation_signature

CALL_LIMIT_S = 10.0
METHOD = "reverse_task"


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
        """The world's, with what a goal may ask for as if it were required."""
        return {**self.world.spec.facts, **dict.fromkeys(self.world.on_request, "required")}


@dataclass(frozen=True)
class Derivation:
    """Tasks out of the windows of one walk; `env` is the world that was walked."""

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
            draft, check, task = await self._drafted(segment)
            asks = all(operation.shown is not None for operation in segment.operations)
            tests, incidental = await first_tests(
                self.env, task, check, segment, draft.answer if asks else None
            )
            if not incidental:
                return await self._tested(segment, draft, task, check, tests)
            shorter = await cutter.shortened(segment, incidental)
            if shorter is None:
                names = (segment.operations[at].turn.tool_calls[0].name for at in incidental)
                raise RejectedError("T3_incidental", "; ".join(names))
            segment = shorter

    async def _drafted(self, segment: Segment) -> tuple[Draft, Check, Task]:
        """The window's goal, its check and its task, before it is tested."""
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
        return draft, check, task

    async def _tested(
        self, segment: Segment, draft: Draft, task: Task, check: Check, tests: dict[str, Any]
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
        t7 = not_guessed(world, task, check)
        t6 = await bots_fail(bench, task)
        case = SolvedTask(bench, self.env, task, check, self.walk, segment, known)
        t4 = await case.others_pass()
        t5 = await mutants_fail(case)
        difficulty = {
            "method": METHOD,
            "exploration": self.ground.exploration,
            "operations": len(segment.operations),
            "refusals": len(draft.refusals),
            "question": asks_for_an_answer(check),
            "signature": operation_signature(segment.operations, segment.start),
            "structure": draft.structure or constraint_structure(check),
            "tools": list(
                dict.fromkeys(c.name for o in segment.operations for c in o.turn.tool_calls)
            ),
            "low_level": list(draft.low_level),
            "tests": {**tests, "T4": t4, "T5": t5, "T6": t6, "T7": t7, "T8": t8},
        }
        about = {**msgspec.structs.asdict(task), "difficulty": difficulty, "gold": gold}
        del about["task_id"]
        return Task.identified(**about)
