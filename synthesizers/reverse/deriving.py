"""From a window of an exploration to a task that passed its tests, or to the reason why it is
none.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import perform
from synth.envs.world import EnvEntry
from synth.schemas.check import Check
from synth.schemas.environment import Env
from synth.schemas.reverse import Draft, NoGoal, Operation, Window
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import ToolCall
from synth.synthesizers.reverse.constraints import constraint_structure
from synth.synthesizers.reverse.exploration import Exploration, of_goals
from synth.synthesizers.reverse.mutant_tests import mutants_fail
from synth.synthesizers.reverse.outcome import Derived, Rejected
from synth.synthesizers.reverse.prior_guess import asks_for_an_answer, not_guessed
from synth.synthesizers.reverse.replaying import Segment, played, segment
from synth.synthesizers.reverse.solution_tests import bots_fail, others_pass, solved
from synth.synthesizers.reverse.state_tests import StateTests, state_tests
from synth.synthesizers.reverse.told_tests import told_tests
from synth.synthesizers.reverse.windows import operation_signature, tools_of
from synth.synthesizers.reverse.zones import check_of

CALL_LIMIT_S = 10.0
METHOD = "reverse_task"


@dataclass(frozen=True)
class Ground:
    """Where an exploration took place, and what its tasks inherit: settings of the start state,
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


async def derived(
    ground: Ground, env: Env, walked: Exploration, wanted: Sequence[Operation]
) -> Derived | Rejected:
    """One window: shrunk to what its goal needs, tested in the order of what a test costs."""
    found = await segment(env, ground.zones, walked, wanted, ground.longest)
    if found is None:
        return Rejected("depends_on_before")
    while True:
        drafted = await _drafted(ground, walked, found)
        if isinstance(drafted, Rejected):
            return drafted
        task, draft = drafted
        asks = all(operation.shown is not None for operation in found.operations)
        state = (
            await told_tests(env, task, found, draft.answer)
            if asks
            else await state_tests(env, task, found)
        )
        if isinstance(state, Rejected):
            return state
        if not state.incidental:
            return await _tested(ground, env, walked, found, task, draft, state)
        left = await _without(env, ground, found, state.incidental)
        if left is None:
            return Rejected(
                "T3_incidental",
                "; ".join(found.operations[at].turn.tool_calls[0].name for at in state.incidental),
            )
        found = left


async def _without(
    env: Env, ground: Ground, found: Segment, incidental: Sequence[int]
) -> Segment | None:
    """The segment without operations that its goal does not need; None where none would be left, or
    the others would not go.
    """
    kept = [number for number in range(len(found.operations)) if number not in incidental]
    gone = {found.places[number] for number in incidental}
    at = [place for place in range(len(found.turns)) if place not in gone]
    if not kept:
        return None
    done = await played(env, [found.turns[place] for place in at])
    places = tuple(at.index(found.places[number]) for number in kept)
    changed = [of_goals(done.changed[place], ground.zones) for place in places]
    if any(
        not now and found.operations[number].denied is None
        for now, number in zip(changed, kept, strict=True)
    ):
        return None
    operations = tuple(
        msgspec.structs.replace(found.operations[number], changed=now)
        for now, number in zip(changed, kept, strict=True)
    )
    return replace(
        found,
        turns=tuple(found.turns[p] for p in at),
        places=places,
        operations=operations,
        start=done.start,
        end=done.end,
    )


async def _drafted(
    ground: Ground, walked: Exploration, found: Segment
) -> tuple[Task, Draft] | Rejected:
    """The window's task before it is tested."""
    window = Window(
        ground.env,
        ground.env_config,
        ground.seed,
        walked.opening,
        walked.walk,
        found.operations,
        found.start,
        found.end,
    )
    draft = await ground.write(window)
    if isinstance(draft, NoGoal):
        return Rejected(f"no_goal_{draft.reason}")
    check = check_of(found.start, found.end, draft, ground.world.spec.facts)
    if any(operation.denied is not None for operation in found.operations) and not check.refusals:
        return Rejected("refusal_not_checked", draft.goal)
    if not (check.required or check.refusals or check.told):
        return Rejected("nothing_to_check", draft.goal)
    return _task(ground, draft, check, {}), draft


def _task(
    ground: Ground,
    draft: Draft,
    check: Check,
    difficulty: Mapping[str, Any],
    gold: tuple[ToolCall, ...] | None = None,
) -> Task:
    return Task.identified(
        env=ground.env,
        env_config=dict(ground.env_config if draft.env_config is None else draft.env_config),
        goal=draft.goal,
        seed=ground.seed if draft.seed is None else draft.seed,
        origin=Origin.REVERSE,
        check=check,
        gold=gold,
        script=draft.script,
        split=ground.split,
        benchmark=ground.benchmark,
        difficulty=difficulty,
    )


async def _tested(
    ground: Ground,
    env: Env,
    walked: Exploration,
    found: Segment,
    task: Task,
    draft: Draft,
    state: StateTests,
) -> Derived | Rejected:
    """T8, T7, T6, T4 and T5; the task with all results, and its operations as gold where they pass
    as they are.
    """
    calls = tuple(call for turn in found.turns for call in turn.tool_calls)
    passes = (await perform(env, task, found.turns)).verdict.passed
    gold = calls if passes and calls and len(calls) == len(found.turns) else None
    bench = ConformanceRig(ground.world, task.env_config, ground.seed, (task,), CALL_LIMIT_S)
    known = await solved(
        bench, task if bench.claims("expert") else msgspec.structs.replace(task, gold=gold)
    )
    if isinstance(known, Rejected):
        return known
    solution, t8 = known
    t7 = not_guessed(ground.world, task)
    if isinstance(t7, Rejected):
        return t7
    t6 = await bots_fail(bench, task)
    if isinstance(t6, Rejected):
        return t6
    t4 = await others_pass(bench, env, task, found, solution)
    if isinstance(t4, Rejected):
        return t4
    t5 = await mutants_fail(bench, task, walked, found, solution)
    if isinstance(t5, Rejected):
        return t5
    tests = {**state.tests, "T4": t4, "T5": t5, "T6": t6, "T7": t7, "T8": t8}
    difficulty = {
        "method": METHOD,
        "exploration": ground.exploration,
        "operations": len(found.operations),
        "refusals": len(draft.refusals),
        "question": asks_for_an_answer(task),
        "signature": operation_signature(found.operations, found.start),
        "structure": draft.structure or constraint_structure(task.check or Check()),
        "tools": tools_of(found.operations),
        "low_level": list(draft.low_level),
        "tests": {name: test.as_stored() for name, test in tests.items()},
    }
    return Derived(_task(ground, draft, task.check or Check(), difficulty, gold))
