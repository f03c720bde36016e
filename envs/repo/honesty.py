"""Whether code passes tests, or gets round them: it is asked the same tests with other expectations.

Asked only where all tests pass, so it costs a run per success, and one of the solution per task.
"""

from synth.envs.repo.checking import OUTCOMES
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import Changes, TaskTree
from synth.envs.repo.twisted import name_of, twisted
from synth.schemas import SubVerdict

HONEST = "honest"


async def honest(place: TaskTree, changes: Changes, settings: RepoSettings) -> SubVerdict:
    """Holds unless a failing test of the task passes with another expectation too, which it does
    not with the solution.
    """
    tests, asked = twisted_tests(place)
    if not asked:
        return SubVerdict(HONEST, True)

    passed = await OUTCOMES.passed(place, changes, settings, tests)
    forced = asked & passed
    if forced:
        solution = {path: place.file(path, text) for path, text in place.wanted.items()}
        forced -= await OUTCOMES.passed(place, solution, settings, tests)

    return SubVerdict(HONEST, not forced, tuple(sorted(forced)))


def twisted_tests(place: TaskTree) -> tuple[Changes, frozenset[str]]:
    """The task's files of tests with other expectations, and which of the failing tests have one."""
    found, names = dict[str, str](), set[tuple[str, str]]()
    for path in sorted({*place.task.test_files, *place.task.hidden}):
        judged = place.judged_with.get(path) or place.pristine_file(path)
        if judged is None or not path.endswith(".py"):
            continue

        text, twists = twisted(judged.data.decode(errors="replace"))
        found[path] = text
        names |= {(path, name) for name in twists}

    changes = {path: place.file(path, text) for path, text in found.items()}
    failing = place.task.failing
    asked = {test for test in failing if (test.partition("::")[0], name_of(test)) in names}

    return changes, frozenset(asked)
