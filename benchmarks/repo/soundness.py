"""What a pool's tasks are, whether they are public ones, and what their checks are worth."""

from collections import Counter
from collections.abc import Iterable
from random import Random

from benchmarks.repo.bench import Bench, at_least, at_most, each
from benchmarks.repo.public_tasks import found_in, named_in, public_repositories
from synth.envs.repo.bots import wrong
from synth.envs.repo.bots.judging import solves
from synth.envs.repo.checking import counted, outcomes_of
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import Changes, TaskTree

WRONG_PER_TASK, FLAKY_RUNS = 12, 5


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


async def wrong_patches(bench: Bench) -> None:
    """Mutants of the solutions, drawn anew and not as grading did: all, and those that any test of
    the library tells.
    """
    made, killed = Counter[str](), Counter[str]()
    alike = 0
    cases = [
        (place, kind, changes)
        for place in map(bench.place, bench.tasks)
        for kind, changes in _drawn(place)
    ]

    async def told(case: tuple[TaskTree, str, Changes]) -> bool | None:
        """Whether a patch is refused; None where no test of the library tells it."""
        place, _, changes = case
        if not await solves(place, changes, bench.settings):
            return True
        return None if await _alike_to_all_tests(place, changes, bench.settings) else False

    ends = await each("wrong patches", cases, told, "patches")
    for (_, kind, _), refused in zip(cases, ends, strict=True):
        made[kind] += 1
        killed[kind] += refused is True
        alike += refused is None

    print(f"wrong patches refused: {at_least(killed.total(), made.total())}")
    telling = made.total() - alike
    print(f"  of those that any test of the library tells: {at_least(killed.total(), telling)}")
    for kind, count in sorted(made.items()):
        print(f"  {kind:<24} {at_least(killed[kind], count)}")


async def flaky(bench: Bench) -> None:
    """Whether five runs of the tests, of the broken tree and of the solution, end alike."""
    cases = [
        (place, changes)
        for place in map(bench.place, bench.tasks)
        for changes in ({}, place.solved)
    ]

    async def differs(case: tuple[TaskTree, Changes]) -> bool:
        """Whether one of five runs ends otherwise."""
        place, changes = case
        files = {*place.task.test_files, *place.task.hidden}
        runs = [await _anew(place, changes, files, bench.settings) for _ in range(FLAKY_RUNS)]
        return len(set(runs)) > 1

    differ = await each("five runs", cases, differs, "trees")
    print(f"verdicts that change in {FLAKY_RUNS} runs: {at_most(sum(differ), len(differ))}")


def _drawn(place: TaskTree) -> list[tuple[str, Changes]]:
    """Wrong patches of a task, others than those that grading drew."""
    every = list(wrong.wrong_patches(place))
    draw = Random(f"{place.task.id}bench")
    return every if len(every) <= WRONG_PER_TASK else draw.sample(every, WRONG_PER_TASK)


async def _alike_to_all_tests(place: TaskTree, changes: Changes, settings: RepoSettings) -> bool:
    """Whether no test of the library tells a tree from the solution's: it is not known to be
    wrong.
    """
    files = {*place.library.tests.values(), *place.task.hidden}
    ends = [await _anew(place, mine, files, settings) for mine in (changes, place.solved)]
    return ends[0] == ends[1]


async def _anew(
    place: TaskTree, changes: Changes, files: Iterable[str], settings: RepoSettings
) -> frozenset[str]:
    """The tests of some files that pass, whatever was seen before."""
    every = {**counted(place, changes), **place.judged_with}
    return (await outcomes_of(place, every, sorted(files), settings)).passed
