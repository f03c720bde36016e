"""T1 to T3 and T5: the check fails at the start and passes at the end, and it fails without any one
operation and for solutions with one mistake.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from synth.envs.audit.mutants import mutants
from synth.envs.audit.solutions import Variant, differences, variant
from synth.envs.transcript import perform
from synth.schemas import AgentTurn, Env, Task, Tell
from synth.synthesizers.rejected import RejectedError
from synth.synthesizers.reverse.check_predicates import broken, check_in, verdict
from synth.synthesizers.reverse.choosing import in_turns
from synth.synthesizers.reverse.exploration import played, signature_of, tool_of
from synth.synthesizers.reverse.solution_tests import SolvedTask
from synth.synthesizers.reverse.subtrajectories import Segment

TOLD = "told"
"""The part of an environment's verdict that is about answers; where it has none, the verdict
itself.
"""
FEWEST_MUTANTS = 10
"""With fewer mutants, their deaths say little about the check."""
KILLED = 0.95
"""The share of mutants that must fail: a few may be right by chance."""
MOST_OF_A_SOURCE = 12
"""The most mutants of one source."""


async def first_tests(
    env: Env, task: Task, segment: Segment, said: AgentTurn | None
) -> tuple[dict[str, Any], list[int]]:
    """T1 to T3: false at the start, true after the operations, false without any one of them; and
    the operations without which the state is right all the same. Raises `RejectedError`.

    A question is answered by the turn `said`, and its answer must not stand in the goal. A look-up
    without which the answer counts all the same is not left out of the window: a question has one
    part per look-up, so that nothing would be left to be asked.
    """

    check = check_in(task)
    forms = (form for fact in check.told for form in _forms(fact)) if said is not None else ()
    # an answer that stands in the goal is no question
    stated = next((form for form in forms if form in task.goal.lower()), None)

    if stated is not None:
        raise RejectedError("answer_in_the_goal", f"{stated}: {task.goal}")

    # the check itself and its state part, both must fail
    await env.reset(task)
    passes = (await env.check()).passed
    decides = said is not None or check.required

    if passes or (decides and not await _wrong_after(env, task, (), said)):
        raise RejectedError("T1_true_at_the_start", task.goal)
    if wrong := await _wrong_after(env, task, segment.turns, said):
        raise RejectedError("T2_false_after_the_walk", wrong)

    # a refused operation changes nothing, so leaving it out shows nothing
    ablated = [at for at, operation in enumerate(segment.operations) if operation.denied is None]
    incidental = [
        at for at in ablated if not await _wrong_after(env, task, segment.without(at), said)
    ]
    if said is not None and incidental:
        raise RejectedError("T3_known_without_the_look_up", task.goal)

    third = verdict(not incidental if ablated else None, ablated=len(ablated))

    return {"T1": verdict(), "T2": verdict(), "T3": third}, incidental


async def _wrong_after(
    env: Env, task: Task, turns: Sequence[AgentTurn], said: AgentTurn | None
) -> str:
    """The error after these turns, or, of a question, after its answer; empty where the check
    passes.
    """

    if said is None:
        done = await played(env, turns, task)
        return broken(check_in(task), done.start, done.end)

    # an answer is judged in its environment, after the look-ups
    found = (await perform(env, task, (*turns, said))).verdict
    passed = {part.name: part.passed for part in reversed(found.parts)}.get(TOLD, found.passed)

    return "" if passed else f"{said} {task.goal}"


def _forms(fact: Tell) -> Iterator[str]:
    """The spellings of a value, in lower case; amounts are in cents."""
    if fact.type == "money" and isinstance(fact.value, int):
        yield f"{fact.value / 100:.2f}"
        yield f"${fact.value / 100:g} "

        return

    yield str(fact.value).lower()
    yield str(fact.value).lower().replace("_", " ")


async def mutants_fail(solved: SolvedTask) -> dict[str, Any]:
    """T5: at least `FEWEST_MUTANTS` mutants count, and at least `KILLED` of them fail; one that
    passes and leaves the same state is no mutant. Raises `RejectedError`.

    Mutants by the environment's own rules are wrong whatever their state, so all of those must
    fail.
    """

    bench = solved.bench
    task = solved.task
    draw = Random(task.task_id)
    counted = Counter[str]()
    equal = 0
    survivors: list[str] = []

    for source, every in (await _mutants_by_source(solved)).items():
        drawn = in_turns(draw.sample(every, len(every)), lambda mutant: mutant.kind)
        for mutant in drawn[:MOST_OF_A_SOURCE]:
            transcript, end = await variant(bench, task, mutant.actions)
            passed = transcript.verdict.passed
            if passed and source == "world":
                raise RejectedError(f"T5_{mutant.kind}_survives", task.goal)
            # it passes rightly: it does the same as the solution, and counts neither way
            if passed and not differences(bench, task, solved.known.end, end):
                equal += 1
                continue

            counted[mutant.kind] += 1
            survivors += [mutant.what] if passed else []

    made = counted.total()
    killed = made - len(survivors)
    if made < FEWEST_MUTANTS:
        raise RejectedError("T5_too_few_mutants", f"{made}: {task.goal}")
    if killed < KILLED * made:
        raise RejectedError("T5_mutants_survive", "; ".join(survivors)[:300])

    kinds = dict(sorted(counted.items()))

    return verdict(mutants=made, killed=killed, equal=equal, kinds=kinds)


async def _mutants_by_source(solved: SolvedTask) -> dict[str, list[Variant]]:
    """Wrong solutions: by the audit's rules, by the environment's own, from other steps of the
    walk, from other actions that the environment offers.
    """

    entry = solved.bench.world
    known = solved.known
    own = entry.mutants(solved.task, known.transcript) if entry.mutants else ()

    return {
        "solution": list(mutants(known)),
        "world": [Variant(kind, kind, tuple(actions)) for kind, actions in own],
        "walk": list(_otherwise(solved)),
        "offered": await _offered(solved),
    }


def _otherwise(solved: SolvedTask) -> Iterator[Variant]:
    """Replaces an operation by another action that its tool offered in the walk, and adds the
    walk's other operations.
    """

    effectful = [turn for turn, effect in enumerate(solved.known.effectful) if effect]
    tools = {tool_of(solved.known.transcript.actions[at]): at for at in reversed(effectful)}
    own = {operation.at for operation in solved.segment.operations}

    for operation in solved.segment.operations:
        place = tools.get(tool_of(operation.turn))
        # the solution may use another tool for it, or none
        others = () if place is None else solved.walk.steps[operation.at].others
        yield from (_mutant(solved, "other", place or 0, other) for other in others)

    # too much is as wrong as too little
    last = max(effectful, default=0)
    for operation in solved.walk.operations:
        if operation.at not in own and operation.denied is None:
            yield _mutant(solved, "extra", last, operation.turn)


async def _offered(solved: SolvedTask) -> list[Variant]:
    """Replaces each effectful turn of the solution by another action that the environment offers
    there, or adds that, for tools that changed something in the walk.
    """

    changing = {tool_of(operation.turn) for operation in solved.walk.operations}
    asked = solved.bench.claims("affordances")
    found = list[Variant]()
    # offers depend on the state, so the solution is played beside
    env = solved.bench.open()
    await env.reset(solved.task)

    for place, action in enumerate(solved.known.transcript.actions):
        effectful = solved.known.effectful[place]
        for other in await env.affordances() if asked and effectful else ():
            if tool_of(other) in changing and signature_of(other) != signature_of(action):
                found += [
                    _mutant(
                        solved,
                        kind,
                        place,
                        other,
                    )
                    for kind in ("other", "extra")
                ]

        await env.step(action)

    await env.close()

    return found


def _mutant(
    solved: SolvedTask,
    kind: str,
    place: int,
    turn: AgentTurn,
) -> Variant:
    """The solution with a turn in the place of its own (`other`), or before it (`extra`)."""
    actions = solved.known.transcript.actions
    instead = kind == "other"
    shown = " ".join(f"{call.name} {call.arguments}" for call in turn.tool_calls)
    what = f"{shown or turn.content} {'instead' if instead else 'as well'}"
    # another id: both calls may stand in one transcript
    calls = tuple(replace(call, call_id=f"{call.call_id}_other") for call in turn.tool_calls)
    put = replace(turn, tool_calls=calls)

    return Variant(kind, what, (*actions[:place], put, *actions[place + instead :]))
