"""Repositories: who solves a pool's tasks, who gets round them, what the check refuses, what a step
costs.

Run: `python -m benchmarks.repo_tasks POOL [tasks] [seed] [--only PART ...]`; PART is one of shape,
ids, gold, noop, bots, cheats, wrong, flaky, trials, steps.
"""

import argparse
import asyncio
import resource
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from synth.envs.bots import BOTS as GENERIC
from synth.envs.bots import expert
from synth.envs.repo.bots import judging, tiers, wrong
from synth.envs.repo.bots.cheats import cheats
from synth.envs.repo.bots.public_tasks import found_in, named_in, public_repositories
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree, task_tree
from synth.envs.repo.world import bound
from synth.envs.transcript import play
from synth.envs.world import EnvEntry
from synth.schemas import Task
from synth.stats.intervals import clopper_pearson

TASKS, SEED = 10_000, 7
WRONG_PER_TASK, FLAKY_RUNS, TRIALS = 12, 5, 8
MOST_TURNS, LIMIT_S = 60, 40.0
POLICIES = ("mixed", "correct")


class Bench(NamedTuple):
    """A pool with its tasks."""

    world: EnvEntry
    settings: RepoSettings
    tasks: Sequence[Task]
    ids: Sequence[str] = ()

    def place(self, task: Task) -> TaskTree:
        """The tree of a task."""
        return task_tree(Path(self.settings.pool), str(task.script["task"]))


def at_most(count: int, n: int) -> str:
    """A share that is to be small, with its exact upper 95 % bound."""
    return f"{count} of {n} (below {100 * clopper_pearson(count, n, 0.9)[1]:.2f} %)"


def at_least(count: int, n: int) -> str:
    """A share that is to be large, with its exact lower 95 % bound."""
    share = f"{100 * count / n:.1f} %, " if n else ""
    return f"{count} of {n} ({share}above {100 * clopper_pearson(count, n, 0.9)[0]:.1f} %)"


async def passes(bench: Bench, task: Task, choose: object, seed: int = SEED) -> bool:
    """Whether a policy solves a task."""
    env = bench.world.open(task.env_config)
    try:
        played = await play(env, task, choose, seed=seed, max_turns=MOST_TURNS)  # type: ignore[arg-type]
        return played.verdict.passed
    finally:
        await env.close()


async def shape(bench: Bench) -> None:
    """What kinds of tasks there are."""
    tasks = [bench.place(task).task for task in bench.tasks]
    rows = Counter((one.tier, one.kind) for one in tasks)
    print(f"{len(tasks)} tasks of {len({one.library for one in tasks})} libraries")
    for (tier, kind), count in sorted(rows.items()):
        print(f"  tier {tier}  {kind:<24} {count}")

    several = sum(one.sites > 1 or len(one.edits) > 1 for one in tasks)
    hidden = sum(bool(one.hidden) for one in tasks)
    told = {
        (one.about.get("operators", one.kind), tuple(sorted(one.edits)), one.failing)
        for one in tasks
    }
    print(f"several functions or files: {at_least(several, len(tasks))}")
    print(f"hidden tests: {at_least(hidden, len(tasks))}")
    print(f"distinct (operators, modules, failing tests): {len(told)} of {len(tasks)}")


async def ids(bench: Bench) -> None:
    """Whether repositories or tasks are those of public benchmarks."""
    places = [bench.place(task) for task in bench.tasks]
    listed = bench.ids
    libraries = {one.library.name: one.library for one in places}
    found = {name: hit for name, one in libraries.items() if (hit := found_in(one, listed))}
    named = named_in(one.task for one in places)
    sets = f"{len(public_repositories())} repositories and {len(listed):,} ids"
    print(
        f"public tasks: {len(found)} of {len(libraries)} libraries, {len(named)} tasks, of {sets}"
    )
    for name, hit in found.items():
        print(f"    {name}: {hit}")


async def gold(bench: Bench) -> None:
    """The expert, and the solution as it stands."""
    solved = [await passes(bench, task, expert("correct")) for task in bench.tasks]
    print(f"gold: {at_least(sum(solved), len(solved))}")
    _named("not solved", bench, [not one for one in solved])


async def noop(bench: Bench) -> None:
    """Nobody who does nothing passes."""
    for name in ("do_nothing", "refuse_all", "random_affordance"):
        passed = [await passes(bench, task, GENERIC[name]) for task in bench.tasks]
        print(f"{name}: {at_most(sum(passed), len(passed))}")
        _named("passed", bench, passed)


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
            _named("passed", bench, each)


async def wrong_patches(bench: Bench) -> None:
    """Mutants of the solutions: all, and those that any test of the library tells."""
    made, killed = Counter[str](), Counter[str]()
    alike = 0
    for task in bench.tasks:
        place = bench.place(task)
        for kind, changes in wrong.wrong_patches(place, WRONG_PER_TASK):
            made[kind] += 1
            if not await judging.solves(place, changes, bench.settings):
                killed[kind] += 1
            elif await judging.alike_to_all_tests(place, changes, bench.settings):
                alike += 1

    print(f"wrong patches refused: {at_least(killed.total(), made.total())}")
    told = made.total() - alike
    print(f"  of those that any test of the library tells: {at_least(killed.total(), told)}")
    for kind, count in sorted(made.items()):
        print(f"  {kind:<24} {at_least(killed[kind], count)}")


async def flaky(bench: Bench) -> None:
    """Whether five runs of the tests, of the broken tree and of the solution, end alike."""
    differ = []
    for task in bench.tasks:
        place = bench.place(task)
        for changes in ({}, judging.solution(place)):
            runs = [
                await judging.verdict_anew(place, changes, bench.settings)
                for _ in range(FLAKY_RUNS)
            ]
            differ.append(len(set(runs)) > 1)

    print(f"verdicts that change in {FLAKY_RUNS} runs: {at_most(sum(differ), len(differ))}")


async def trials(bench: Bench) -> None:
    """How many of eight trials two policies solve: tasks by the number."""
    for profile in POLICIES:
        solved: Counter[int] = Counter()
        for task in bench.tasks:
            rounds = [
                await passes(bench, task, expert(profile), seed=SEED + trial)
                for trial in range(TRIALS)
            ]
            solved[sum(rounds)] += 1

        row = " ".join(f"{number}:{solved[number]}" for number in range(TRIALS + 1))
        print(f"solved of {TRIALS} by expert {profile}: {row}")


async def steps(bench: Bench) -> None:
    """What steps and checks cost, by the expert."""
    walls, checks, turns = [], [], 0
    used = _cpu_s()
    begun = time.perf_counter()
    for task in bench.tasks:
        env = bench.world.open(task.env_config)
        await env.reset(task)
        done = False
        while not done and turns < MOST_TURNS * len(bench.tasks):
            at = time.perf_counter()
            done = (await env.step(await env.expert())).done
            walls.append(time.perf_counter() - at)
            turns += 1
        at = time.perf_counter()
        await env.check()
        checks.append(time.perf_counter() - at)
        await env.close()

    wall, cpu = time.perf_counter() - begun, _cpu_s() - used
    middle, check = statistics.median(walls), statistics.median(checks)
    print(
        f"steps: {turns / wall:.2f} a second, with resets and checks; CPU {cpu / turns:.3f} s each"
    )
    print(f"  step {1000 * middle:.0f} ms, check {1000 * check:.0f} ms (medians)")


def _cpu_s() -> float:
    """Seconds of computing of this process and those that it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def _named(what: str, bench: Bench, which: Sequence[bool]) -> None:
    """The tasks that something holds of."""
    found = [
        bench.place(task).task for task, holds in zip(bench.tasks, which, strict=True) if holds
    ]
    for one in found[:12]:
        print(f"    {what}: {one.id} {one.library} {one.kind}")


PARTS: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "shape": shape,
    "ids": ids,
    "gold": gold,
    "noop": noop,
    "bots": bots,
    "cheats": cheating,
    "wrong": wrong_patches,
    "flaky": flaky,
    "trials": trials,
    "steps": steps,
}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool")
    parser.add_argument("tasks", type=int, nargs="?", default=TASKS)
    parser.add_argument("seed", type=int, nargs="?", default=SEED)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--ids", help="a file with ids of public tasks, one a line")
    given = parser.parse_args()
    listed = Path(given.ids).read_text().split() if given.ids else ()
    settings = RepoSettings(pool=str(Path(given.pool).resolve()), tests_s=LIMIT_S)
    world = bound(settings)
    bench = Bench(world, settings, world.make_tasks({}, given.seed, given.tasks), listed)

    async def printed() -> None:
        for name in given.only:
            await PARTS[name](bench)

    asyncio.run(printed())


if __name__ == "__main__":
    main()
