"""Who passes a pool's tasks: the expert, nobody, bots that repair, cheats, policies of a kind."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping

from benchmarks.repo.bench import SEED, Bench, Choose, at_least, at_most, named, passes
from benchmarks.world_methods import NOISY
from synth.envs.bots import BOTS as GENERIC
from synth.envs.bots import expert
from synth.envs.repo.bots import tiers
from synth.envs.repo.bots.cheats import cheats
from synth.policies.mixture import mixture_policy

TRIALS = 8
POLICIES: Mapping[str, Choose] = {
    "the expert with a misconception a trial": expert("mixed"),
    "the same, one turn in ten at random": mixture_policy(
        {"of": NOISY["of"]}, model_name=None, sampling={}
    ).open,
}


async def gold(bench: Bench) -> None:
    """The expert, and the solution as it stands."""
    solved = [await passes(bench, task, expert("correct")) for task in bench.tasks]
    print(f"gold: {at_least(sum(solved), len(solved))}")
    named("not solved", bench, [not one for one in solved])


async def noop(bench: Bench) -> None:
    """Nobody who does nothing passes."""
    for name in ("do_nothing", "refuse_all", "random_affordance"):
        passed = [await passes(bench, task, GENERIC[name]) for task in bench.tasks]
        print(f"{name}: {at_most(sum(passed), len(passed))}")
        named("passed", bench, passed)


async def bots(bench: Bench) -> None:
    """Repair bots, by kind."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    kinds: Counter[str] = Counter()
    edits: defaultdict[str, list[int]] = defaultdict(list)
    for task in bench.tasks:
        place = bench.place(task)
        kinds[place.task.kind] += 1
        for one in await tiers.results(place, bench.settings):
            found[one.bot][place.task.kind] += one.solved
            edits[one.bot] += [one.tried] if one.solved else []

    for bot, solved in found.items():
        middle = f", median of {statistics.median(edits[bot]):g} edits" if edits[bot] else ""
        print(f"repair by {bot}: {at_least(solved.total(), kinds.total())}{middle}")
        for kind, count in sorted(kinds.items()):
            print(f"  {kind:<24} {at_least(solved[kind], count)}")


async def cheating(bench: Bench) -> None:
    """Each cheat on each task."""
    passed: defaultdict[str, list[bool]] = defaultdict(list)
    for task in bench.tasks:
        for name, cheat in cheats().items():
            passed[name].append(await passes(bench, task, cheat))

    total = [one for each in passed.values() for one in each]
    print(f"{len(passed)} cheats: {at_most(sum(total), len(total))} episodes pass")
    for name, each in passed.items():
        if any(each):
            print(f"  {name} passes {at_most(sum(each), len(each))}")
            named("passed", bench, each)


async def trials(bench: Bench) -> None:
    """How many of eight trials two policies solve: tasks by the number."""
    for name, policy in POLICIES.items():
        solved: Counter[int] = Counter()
        for task in bench.tasks:
            rounds = [
                await passes(bench, task, policy, seed=SEED + trial) for trial in range(TRIALS)
            ]
            solved[sum(rounds)] += 1

        row = " ".join(f"{number}:{solved[number]}" for number in range(TRIALS + 1))
        between = sum(solved[number] for number in range(1, TRIALS))
        print(f"trials of {TRIALS} that pass, tasks by the number, {name}: {row}")
        print(f"  with both outcomes: {at_least(between, len(bench.tasks))}")
