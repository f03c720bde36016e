"""T8, T6 and T4, on episodes: the expert solves it from its goal, bots that understand nothing do
not, other ways to the end pass.
"""

from collections import Counter
from collections.abc import Mapping

from synth.envs.audit.alternatives import ORDER_RULES, answers_alike, reorderings
from synth.envs.audit.solutions import Solution, solution, variant
from synth.envs.audit.state import differences
from synth.envs.bots import BOTS
from synth.envs.conformance.bot_rates import BOT_TURNS
from synth.envs.conformance.experts import expert
from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import Transcript, play
from synth.schemas.environment import Env
from synth.schemas.reverse import Change
from synth.schemas.task import Task
from synth.synthesizers.reverse.outcome import Rejected, TaskTests
from synth.synthesizers.reverse.replaying import Segment, columns, played
from synth.synthesizers.reverse.state_tests import holds

STRATEGIES = 3
"""Expert solutions, each with a seed of its own, that must all pass beside the first one."""
MOST_ALTERNATIVES = 12


async def solved(bench: ConformanceRig, task: Task) -> tuple[Solution, TaskTests] | Rejected:
    """T8: the world's own expert, who is told what an agent is told. Without one T8 does not apply,
    and the walk is the solution.
    """
    known = await solution(bench, task)
    if not bench.claims("expert"):
        if known is None:
            return Rejected(
                "walk_does_not_pass",
                "the operations themselves do not pass the check, and the world has no expert",
            )
        return known, TaskTests(None, {"why": "the world has no expert"})
    if known is None:
        env = bench.open()
        found = await play(env, task, expert("correct"), seed=bench.seed)
        await env.close()
        return Rejected("T8_not_solved_from_the_goal", failure(found))
    return known, TaskTests(True, {"turns": len(known.transcript.actions)})


def failure(transcript: Transcript) -> str:
    """The parts of a verdict that failed, with their evidence."""
    failed = (part for part in transcript.verdict.parts if not part.passed)
    return (
        "; ".join(f"{part.name}: {', '.join(part.evidence)}" for part in failed)[:300]
        or f"after {len(transcript.actions)} turns"
    )


async def bots_fail(bench: ConformanceRig, task: Task) -> TaskTests | Rejected:
    """T6: no bot that understands nothing passes, nor any that the world names."""
    who = {
        name: bot
        for name, bot in {**BOTS, **bench.world.bots}.items()
        if name != "random_affordance" or bench.claims("affordances")
    }
    for name, bot in who.items():
        env = bench.open()
        passed = (await play(env, task, bot, seed=bench.seed, max_turns=BOT_TURNS)).verdict.passed
        await env.close()
        if passed:
            return Rejected(f"T6_{name}_passes", task.goal)
    return TaskTests(True, {"bots": sorted(who)})


async def others_pass(
    bench: ConformanceRig, env: Env, task: Task, segment: Segment, known: Solution
) -> TaskTests | Rejected:
    """T4: the expert's other strategies, the world's other right solutions, the solution's calls
    and the operations in another order.

    Orders with other answers or another end are no alternatives, nor are those that a rule about
    order alone forbids.
    """
    ways = {tuple(action.tool_calls or (action.content,) for action in known.transcript.actions)}
    strategies = STRATEGIES if bench.claims("expert") else 0
    for seed in range(bench.seed + 1, bench.seed + 1 + strategies):
        live = bench.open()
        found = await play(live, task, expert("correct"), seed=seed)
        await live.close()
        ways.add(tuple(action.tool_calls or (action.content,) for action in found.actions))
        if not found.verdict.passed:
            return Rejected("T4_strategy_rejected", failure(found))
    rewritten = (
        list(bench.world.alternatives(task, known.transcript))[:MOST_ALTERNATIVES]
        if bench.world.alternatives
        else []
    )
    for name, actions in rewritten:
        transcript, _ = await variant(bench, task, actions)
        if not transcript.verdict.passed:
            return Rejected(f"T4_{name}_rejected", failure(transcript))
    reordered = 0
    for other in list(reorderings(known))[:MOST_ALTERNATIVES]:
        transcript, end = await variant(bench, task, other.actions)
        alike = answers_alike(known.transcript, transcript, other.order) and not differences(
            bench, task, known.end, end
        )
        if not alike or (not transcript.verdict.passed and _by_order_alone(transcript)):
            continue
        reordered += 1
        if not transcript.verdict.passed:
            return Rejected("T4_reordering_rejected", f"{other.what}: {failure(transcript)}")
    commuting = await _commuting(bench, env, task, segment)
    if isinstance(commuting, Rejected):
        return commuting
    counts = {
        "strategies": strategies,
        "ways": len(ways),
        "rewritten": len(rewritten),
        "reordered": reordered,
        "commuting": commuting,
    }
    return TaskTests(True, counts)


def _by_order_alone(transcript: Transcript) -> bool:
    return {part.name for part in transcript.verdict.parts if not part.passed} == {ORDER_RULES}


async def _commuting(
    bench: ConformanceRig, env: Env, task: Task, segment: Segment
) -> int | Rejected:
    """How many neighbouring operations commute: in the other order they change the same, and the
    state passes.
    """
    count = 0
    for number in range(len(segment.operations) - 1):
        done = await played(env, segment.swapped(number), task)
        if differences(bench, task, segment.end, done.end):
            continue
        expected = Counter(_columns(operation.changed, segment) for operation in segment.operations)
        if Counter(_columns(done.changed[place], segment) for place in segment.places) != expected:
            continue
        count += 1
        if task.check is not None and not holds(task.check, done.start, done.end):
            return Rejected("T4_commuting_order_rejected", task.goal)
    return count


def _columns(changed: Mapping[str, Change], segment: Segment) -> tuple[str, ...]:
    return tuple(columns(changed, segment.start))
