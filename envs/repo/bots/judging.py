"""What the world's check says of changes, without an episode: for bots and audits."""

from synth.envs.repo.checking import OUTCOMES, counted, outcomes_of, tests_of
from synth.envs.repo.honesty.verdict import honest
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import Changes, TaskTree


async def solves(place: TaskTree, changes: Changes, settings: RepoSettings) -> bool:
    """Whether a tree with these changes passes the check of its task."""
    start = await OUTCOMES.passed(place, {}, settings)
    passed = await OUTCOMES.passed(place, changes, settings)
    asked = set(place.task.failing) | (start & set(tests_of(place, start)))

    return asked <= passed and (await honest(place, changes, settings)).passed is True


async def verdict_anew(place: TaskTree, changes: Changes, settings: RepoSettings) -> frozenset[str]:
    """The tests that pass, whatever was seen before: for who asks whether that changes."""
    files = sorted({*place.task.test_files, *place.task.hidden})
    every = {**counted(place, changes), **place.judged_with}

    return (await outcomes_of(place, every, files, settings)).passed


def solution(place: TaskTree) -> Changes:
    """The changes that make all well."""
    return {path: place.file(path, text) for path, text in place.wanted.items()}


async def alike_to_all_tests(place: TaskTree, changes: Changes, settings: RepoSettings) -> bool:
    """Whether no test of the library tells a tree from the solution's: it is not known to be wrong."""
    files = sorted({*place.library.tests.values(), *place.task.hidden})
    ends = []
    for mine in (changes, solution(place)):
        every = {**counted(place, mine), **place.judged_with}
        ends.append((await outcomes_of(place, every, files, settings)).passed)

    return ends[0] == ends[1]
