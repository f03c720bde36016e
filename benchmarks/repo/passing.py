"""Who passes a pool's tasks: the expert, nobody, bots that repair, cheats, policies of a kind."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.gates.automaton import process_score, tier
from benchmarks.gates.honest import trajectory
from benchmarks.repo.bench import (
    SEED,
    Bench,
    Choose,
    Ended,
    at_least,
    at_most,
    each,
    ended,
    named,
    passes,
)
from benchmarks.world_methods import NOISY
from synth.envs.bots import BOTS as GENERIC
from synth.envs.bots import expert
from synth.envs.repo.bots import tiers
from synth.envs.repo.bots.cheats import cheats
from synth.envs.repo.bots.secrets import secrets
from synth.policies.mixture import mixture_policy
from synth.schemas import Task, Trajectory, Turn

TRIALS = 8
POLICIES: Mapping[str, Choose] = {
    "the expert with a misconception a trial": expert("mixed"),
    "the same, one turn in ten at random": mixture_policy(
        {"of": NOISY["of"]}, model_name=None, sampling={}
    ).open,
}


async def gold(bench: Bench) -> None:
    """The expert, and the solution as it stands."""
    solved = await each("gold", bench.tasks, lambda task: passes(bench, task, expert("correct")))
    print(f"gold: {at_least(sum(solved), len(solved))}")
    named("not solved", bench, [not one for one in solved])


async def noop(bench: Bench) -> None:
    """Nobody who does nothing passes."""
    for name in ("do_nothing", "refuse_all", "random_affordance"):
        passed = await each(name, bench.tasks, partial(passes, bench, choose=GENERIC[name]))
        print(f"{name}: {at_most(sum(passed), len(passed))}")
        named("passed", bench, passed)


async def bots(bench: Bench) -> None:
    """Repair bots, by kind."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    kinds: Counter[str] = Counter()
    edits: defaultdict[str, list[int]] = defaultdict(list)
    places = [bench.place(task) for task in bench.tasks]
    ends = await each("bots", places, lambda place: tiers.results(place, bench.settings), "tasks")
    for place, results in zip(places, ends, strict=True):
        kinds[place.task.kind] += 1
        for one in results:
            found[one.bot][place.task.kind] += one.solved
            edits[one.bot] += [one.tried] if one.solved else []

    for bot, solved in found.items():
        middle = f", median of {statistics.median(edits[bot]):g} edits" if edits[bot] else ""
        print(f"repair by {bot}: {at_least(solved.total(), kinds.total())}{middle}")
        for kind, count in sorted(kinds.items()):
            print(f"  {kind:<24} {at_least(solved[kind], count)}")


async def cheating(bench: Bench) -> None:
    """Each cheat on each task, and whether what it reads shows a line of a hidden test."""
    names = list(cheats())
    cases = [(task, name) for task in bench.tasks for name in names]
    ends = await each("cheats", cases, lambda case: ended(bench, case[0], cheats()[case[1]]))

    print(
        f"{len(names)} cheats: {at_most(sum(one.passed for one in ends), len(ends))} episodes pass"
    )
    for at, name in enumerate(names):
        passed = [one.passed for one in ends[at :: len(names)]]
        if any(passed):
            print(f"  {name} passes {at_most(sum(passed), len(passed))}")
            named("passed", bench, passed)

    lines = [len(secrets(bench.place(task))) for task, _ in cases]
    told = [one.shown > 0 for one, count in zip(ends, lines, strict=True) if count]
    print(f"  shown a line of a hidden test, where there are any: {at_most(sum(told), len(told))}")
    print(f"  lines: {sum(one.shown for one in ends)} of {sum(lines)}")


async def trials(bench: Bench) -> None:
    """How many of eight trials two policies solve: tasks by the number; and of tasks that are
    solved six times or more, how far each pass goes the way of the others.
    """
    cases = [(task, SEED + trial) for task in bench.tasks for trial in range(TRIALS)]
    passes_of: defaultdict[str, list[tuple[str, Trajectory]]] = defaultdict(list)
    for name, policy in POLICIES.items():
        ends = await each(name, cases, partial(_trial, bench, policy))
        rounds = [ends[at : at + TRIALS] for at in range(0, len(ends), TRIALS)]
        solved = Counter(sum(one.passed for one in mine) for mine in rounds)
        for (task, seed), one in zip(cases, ends, strict=True):
            if one.passed:
                turns = [
                    Turn(at, did.content, did.tool_calls) for at, did in enumerate(one.actions)
                ]
                passed = trajectory(f"{task.task_id} {name} {seed}", (), turns)
                passes_of[task.task_id].append((name, passed))

        row = " ".join(f"{number}:{solved[number]}" for number in range(TRIALS + 1))
        between = sum(solved[number] for number in range(1, TRIALS))
        print(f"trials of {TRIALS} that pass, tasks by the number, {name}: {row}")
        print(f"  with both outcomes: {at_least(between, len(bench.tasks))}")

    _print_tiers(passes_of)


def _print_tiers(passes_of: Mapping[str, Sequence[tuple[str, Trajectory]]]) -> None:
    """Tiers of AgentLens, by policy."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for of_task in passes_of.values():
        for name, one in of_task:
            value = process_score(one, [other for _, other in of_task])
            if value is not None:
                found[name][tier(value)] += 1

    for name, tiers_of in found.items():
        counts = ", ".join(f"{kind} {tiers_of[kind]}" for kind in ("ideal", "solid", "lucky"))
        print(f"AgentLens: {tiers_of.total()} passes of {name}: {counts}")


async def _trial(bench: Bench, policy: Choose, case: tuple[Task, int]) -> Ended:
    task, seed = case
    return await ended(bench, task, policy, seed)
