"""Explores, and derives a task from each subtrajectory of the walk that passes its tests."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import MAX_TURNS, perform
from synth.schemas import Draft, Env, NoGoal, Operation, Origin, Task, Window
from synth.synthesizers.rejected import RejectedError
from synth.synthesizers.reverse.check_predicates import (
    check_in,
    check_of,
    constraint_structure,
    operation_signature,
)
from synth.synthesizers.reverse.check_tests import first_tests, mutants_fail
from synth.synthesizers.reverse.choosing import Explored, explored_row
from synth.synthesizers.reverse.exploration import Experience, Walk, explored
from synth.synthesizers.reverse.goal_tests import asks_for_another, passes_with, solved
from synth.synthesizers.reverse.ground import Ground, windows_of
from synth.synthesizers.reverse.solution_tests import (
    SolvedTask,
    asks_for_an_answer,
    bots_fail,
    not_guessed,
)
from synth.synthesizers.reverse.subtrajectories import Cutter, Segment


async def exploration_tasks(
    ground: Ground, steps: int, most_windows: int, most_tasks: int, experience: Experience
) -> tuple[list[Task], Explored]:
    """Explores, then tries subtrajectories in a drawn order until there are tasks enough.

    It skips a subtrajectory whose operations look like those of an earlier task.
    """

    draw = Random(f"reverse_task {ground.seed}")
    env = ground.entry.open(ground.env_config)
    tasks: list[Task] = []
    rejected: list[RejectedError] = []
    seen: set[str] = set()

    try:
        walk = await explored(env, ground.zones, steps, draw, experience)
        # the walked environment plays all state tests, which is cheaper than opening one for each
        derivation = Derivation(ground, env, walk, experience, windows_of(walk, ground, draw))

        for wanted in derivation.windows:
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

    return tasks, explored_row(tasks, rejected, walk, ground.entry.spec.facts)


@dataclass(frozen=True)
class Derivation:
    """Derives tasks from subtrajectories of one walk; `env` is the environment that was walked,
    `windows` are all that may be tried. Its goals are remembered by `experience`, for a task is
    tried with the goal of another.
    """

    ground: Ground
    env: Env
    walk: Walk
    experience: Experience
    windows: Sequence[Sequence[Operation]]

    @property
    def _cutter(self) -> Cutter:
        """Cuts out of the walk."""
        return Cutter(self.env, self.ground.zones, self.walk)

    async def task(self, wanted: Sequence[Operation]) -> Task:
        """Shrinks one subtrajectory to what its goal needs, and tests the task, cheap tests first.
        Raises `RejectedError`.
        """

        cutter = self._cutter
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

            # the goal is written anew for what is left
            shorter = await cutter.shortened(segment, incidental)

            if shorter is None:
                names = (segment.operations[at].turn.tool_calls[0].name for at in incidental)
                raise RejectedError("T3_incidental", "; ".join(names))

            segment = shorter

    async def _drafted(self, segment: Segment) -> tuple[Draft, Task]:
        """Writes the goal and the check of a subtrajectory; the task is not tested yet."""
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

        check = check_of(segment.start, segment.end, draft, ground.entry.spec.facts)
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

        self.experience.goals[task.goal] = check, segment.turns
        return draft, task

    async def _other_goal(self, task: Task) -> str | None:
        """The latest goal that asks for something else, else the first of the subtrajectories that
        were not tried yet.
        """
        for goal in reversed([*self.experience.goals]):
            if await asks_for_another(self.env, *self.experience.goals[goal], task):
                return goal

        for wanted in self.windows:
            with suppress(RejectedError):
                segment = await self._cutter.segment(wanted, self.ground.longest)
                goal = "" if segment is None else (await self._drafted(segment))[1].goal

                if goal and await asks_for_another(self.env, *self.experience.goals[goal], task):
                    return goal

        return None

    async def _tested(
        self, segment: Segment, draft: Draft, task: Task, tests: dict[str, Any]
    ) -> Task:
        """Runs T8, T7, T6, T4 and T5; the task with all results, and with its operations as gold
        where they pass as they are.
        """

        entry = self.ground.entry
        turns = segment.turns
        # gold are calls: text turns and turns of several calls cannot be written as such
        calls = tuple(call for turn in turns for call in turn.tool_calls)
        passes = (await perform(self.env, task, turns)).verdict.passed
        gold = calls if passes and calls and len(calls) == len(turns) else None
        bench = ConformanceRig(entry, task.env_config, self.ground.seed, (task,))

        planned = bench.claims("expert")
        # without an expert the operations themselves are the known solution; some play gold alone
        with_gold = msgspec.structs.replace(task, gold=gold)
        known, t8 = await solved(bench, with_gold, self._other_goal)
        t7 = not_guessed(entry, task)
        t6 = await bots_fail(bench, task)
        case = SolvedTask(bench, self.env, with_gold, self.walk, segment, known)
        t4 = await case.others_pass()
        t5 = await mutants_fail(case)
        if draft.worded:
            in_other_words = planned and await passes_with(
                bench, with_gold, draft.worded, MAX_TURNS
            )
            t8 |= {"read": "in the model's words" if in_other_words else "in the rules' words"}

        all_tests = {**tests, "T4": t4, "T5": t5, "T6": t6, "T7": t7, "T8": t8}

        difficulty = {**self._described(segment, draft, task), "tests": all_tests}
        own = {"goal": draft.worded or task.goal, "difficulty": difficulty, "gold": gold}
        about = {**msgspec.structs.asdict(task), **own}
        # difficulty and gold are part of the identity
        del about["task_id"]

        return Task.identified(**about)

    def _described(
        self,
        segment: Segment,
        draft: Draft,
        task: Task,
    ) -> dict[str, Any]:
        """A task's `difficulty` without its tests."""
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
