"""T5: solutions with one thing wrong fail."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from synth.envs.audit.mutants import Mutant, mutants
from synth.envs.audit.solutions import differences, variant
from synth.schemas.environment import AgentTurn
from synth.synthesizers.reverse.check_predicates import RejectedError, verdict
from synth.synthesizers.reverse.exploration import signature_of, tool_of
from synth.synthesizers.reverse.solution_tests import SolvedTask

FEWEST_MUTANTS = 10
KILLED = 0.95
MOST_OF_A_SOURCE = 12
"""Mutants by the audit's rules, by the environment's own, by what the walk could have done, by what
the environment offers: so many of each.
"""


async def mutants_fail(solved: SolvedTask) -> dict[str, Any]:
    """T5: at least `FEWEST_MUTANTS` mutants count, and at least `KILLED` of them fail; one that
    passes and leaves the same state is no mutant. Raises `RejectedError`.

    A mutant by the environment's own rules is wrong in something, whatever its state: all of those
    must fail.
    """
    bench, task, known = solved.bench, solved.task, solved.known
    draw = Random(task.task_id)
    own = bench.world.mutants(task, known.transcript) if bench.world.mutants else ()
    sources = {
        "solution": list(mutants(known)),
        "world": [Mutant(kind, kind, tuple(actions)) for kind, actions in own],
        "walk": list(_otherwise(solved)),
        "offered": await _offered(solved),
    }
    counted, equal = Counter[str](), 0
    survivors: list[str] = []
    for source, every in sources.items():
        for mutant in _of_all_kinds(every, draw):
            transcript, end = await variant(bench, task, mutant.actions)
            passed = transcript.verdict.passed
            if passed and source == "world":
                raise RejectedError(f"T5_{mutant.kind}_survives", task.goal)
            if passed and not differences(bench, task, known.end, end):
                equal += 1
                continue
            counted[mutant.kind] += 1
            survivors += [mutant.what] if passed else []
    made, killed = counted.total(), counted.total() - len(survivors)
    if made < FEWEST_MUTANTS:
        raise RejectedError("T5_too_few_mutants", f"{made}: {task.goal}")
    if killed < KILLED * made:
        raise RejectedError("T5_mutants_survive", "; ".join(survivors)[:300])
    kinds = dict(sorted(counted.items()))
    return verdict(mutants=made, killed=killed, equal=equal, kinds=kinds)


def _otherwise(solved: SolvedTask) -> Iterator[Mutant]:
    """What the walk could have done in an operation's place, done so in the solution; and what
    else it did, done there as well.
    """
    effectful = [turn for turn, effect in enumerate(solved.known.effectful) if effect]
    tools = {tool_of(solved.known.transcript.actions[at]): at for at in reversed(effectful)}
    own = {operation.at for operation in solved.segment.operations}
    for operation in solved.segment.operations:
        place = tools.get(tool_of(operation.turn))
        if place is not None:
            for other in solved.walk.steps[operation.at].others:
                yield _mutant(solved, "other", place, other)
    for operation in solved.walk.operations:
        if operation.at not in own and operation.denied is None:
            yield _mutant(solved, "extra", max(effectful, default=0), operation.turn)


async def _offered(solved: SolvedTask) -> list[Mutant]:
    """What the environment offers before each turn of the solution with an effect, done in its
    place and as well, by tools that change it.
    """
    changing = {tool_of(operation.turn) for operation in solved.walk.operations}
    asked, found = solved.bench.claims("affordances"), list[Mutant]()
    env = solved.bench.open()
    await env.reset(solved.task)
    for place, action in enumerate(solved.known.transcript.actions):
        effectful = solved.known.effectful[place]
        for other in await env.affordances() if asked and effectful else ():
            if tool_of(other) in changing and signature_of(other) != signature_of(action):
                found += [_mutant(solved, kind, place, other) for kind in ("other", "extra")]
        await env.step(action)
    await env.close()
    return found


def _mutant(solved: SolvedTask, kind: str, place: int, turn: AgentTurn) -> Mutant:
    """The solution with a turn in the place of its own (`other`), or before it (`extra`)."""
    actions, instead = solved.known.transcript.actions, kind == "other"
    shown = " ".join(f"{call.name} {call.arguments}" for call in turn.tool_calls)
    calls = tuple(
        msgspec.structs.replace(call, call_id=f"{call.call_id}_other") for call in turn.tool_calls
    )
    put = msgspec.structs.replace(turn, tool_calls=calls)
    what = f"{shown or turn.content} {'instead' if instead else 'as well'}"
    return Mutant(kind, what, (*actions[:place], put, *actions[place + instead :]))


def _of_all_kinds(every: Sequence[Mutant], draw: Random) -> list[Mutant]:
    """At most `MOST_OF_A_SOURCE` of them, drawn; one of each kind before a second one of any."""
    before = Counter[str]()

    def turn(mutant: Mutant) -> int:
        before[mutant.kind] += 1
        return before[mutant.kind]

    return sorted(draw.sample(every, len(every)), key=turn)[:MOST_OF_A_SOURCE]
