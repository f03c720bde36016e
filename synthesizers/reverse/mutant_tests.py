"""T5: solutions with one thing wrong fail."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from synth.envs.audit.mutants import Mutant, mutants
from synth.envs.audit.solutions import Solution, variant
from synth.envs.audit.state import differences
from synth.envs.conformance.finding import ConformanceRig
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.synthesizers.reverse.experience import signature_of, tool_of
from synth.synthesizers.reverse.exploration import Exploration
from synth.synthesizers.reverse.outcome import Rejected, TaskTests
from synth.synthesizers.reverse.replaying import Segment

FEWEST = 10
KILLED = 0.95
MOST_OF_A_SOURCE = 12
"""Mutants by the audit's rules, by the world's own, by what the walk could have done, by what the
world offers: so many of each.
"""


async def mutants_fail(
    bench: ConformanceRig, task: Task, walked: Exploration, segment: Segment, known: Solution
) -> TaskTests | Rejected:
    """At least `FEWEST` mutants count, and at least `KILLED` of them fail; one that passes and
    leaves the same state is no mutant.

    A mutant by the world's own rules is wrong in something, whatever its state: all of those must
    fail.
    """
    draw = Random(task.task_id)
    own = bench.world.mutants(task, known.transcript) if bench.world.mutants is not None else ()
    sources = {
        "solution": list(mutants(known)),
        "world": [Mutant(kind, kind, tuple(actions)) for kind, actions in own],
        "walk": list(_otherwise(walked, segment, known)),
        "offered": await _offered(bench, task, walked, known),
    }
    counted, killed, equal = Counter[str](), Counter[str](), 0
    survivors: list[str] = []
    for source, every in sources.items():
        for mutant in _of_all_kinds(every, draw):
            transcript, end = await variant(bench, task, mutant.actions)
            if transcript.verdict.passed and source == "world":
                return Rejected(f"T5_{mutant.kind}_survives", task.goal)
            if transcript.verdict.passed and not differences(bench, task, known.end, end):
                equal += 1
                continue
            counted[mutant.kind] += 1
            killed[mutant.kind] += not transcript.verdict.passed
            if transcript.verdict.passed:
                survivors.append(mutant.what)
    counts = {
        "mutants": counted.total(),
        "killed": killed.total(),
        "equal": equal,
        "kinds": dict(sorted(counted.items())),
    }
    if counted.total() < FEWEST:
        return Rejected("T5_too_few_mutants", f"{counted.total()}: {task.goal}")
    if killed.total() < KILLED * counted.total():
        return Rejected("T5_mutants_survive", "; ".join(survivors)[:300])
    return TaskTests(True, counts)


def _of_all_kinds(every: Sequence[Mutant], draw: Random) -> list[Mutant]:
    """At most `MOST_OF_A_SOURCE` of them, drawn; one of each kind before a second one of any."""
    drawn = draw.sample(every, len(every))
    turns = Counter[str]()
    ranked: list[tuple[int, int, Mutant]] = []
    for mutant in drawn:
        ranked.append((turns[mutant.kind], len(ranked), mutant))
        turns[mutant.kind] += 1
    return [mutant for _, _, mutant in sorted(ranked, key=lambda entry: entry[:2])][
        :MOST_OF_A_SOURCE
    ]


def _otherwise(walked: Exploration, segment: Segment, known: Solution) -> Iterator[Mutant]:
    """What the walk could have done in an operation's place, done so in the solution; and what else
    it did, done there as well.
    """
    actions, effects = known.transcript.actions, known.effectful
    last = max((turn for turn, effectful in enumerate(effects) if effectful), default=0)
    own = {operation.at for operation in segment.operations}
    for operation in segment.operations:
        place = next(
            (
                turn
                for turn, action in enumerate(actions)
                if effects[turn] and tool_of(action) == tool_of(operation.turn)
            ),
            None,
        )
        for other in walked.steps[operation.at].others if place is not None else ():
            yield Mutant(
                "other", f"{_shown(other)} instead", _put(actions, place or 0, other, instead=True)
            )
    for operation in walked.operations:
        if operation.at not in own and operation.denied is None:
            yield Mutant(
                "extra",
                f"{_shown(operation.turn)} as well",
                _put(actions, last, operation.turn, instead=False),
            )


async def _offered(
    bench: ConformanceRig, task: Task, walked: Exploration, known: Solution
) -> list[Mutant]:
    """What the world offers before each turn of the solution with an effect, done in its place and
    as well, by tools that change it.
    """
    changing = {tool_of(operation.turn) for operation in walked.operations}
    actions = known.transcript.actions
    found: list[Mutant] = []
    env = bench.open()
    await env.reset(task)
    for place, action in enumerate(actions):
        for other in (
            await env.affordances()
            if known.effectful[place] and bench.claims("affordances")
            else ()
        ):
            if tool_of(other) in changing and signature_of(other) != signature_of(action):
                found.append(
                    Mutant(
                        "other",
                        f"{_shown(other)} instead",
                        _put(actions, place, other, instead=True),
                    )
                )
                found.append(
                    Mutant(
                        "extra",
                        f"{_shown(other)} as well",
                        _put(actions, place, other, instead=False),
                    )
                )
        await env.step(action)
    await env.close()
    return found


def _put(
    actions: Sequence[AgentTurn], place: int, turn: AgentTurn, *, instead: bool
) -> tuple[AgentTurn, ...]:
    calls = tuple(
        msgspec.structs.replace(call, call_id=f"{call.call_id}_other") for call in turn.tool_calls
    )
    return (
        *actions[:place],
        msgspec.structs.replace(turn, tool_calls=calls),
        *actions[place + (1 if instead else 0) :],
    )


def _shown(turn: AgentTurn) -> str:
    return " ".join(f"{call.name} {call.arguments}" for call in turn.tool_calls) or str(
        turn.content
    )
