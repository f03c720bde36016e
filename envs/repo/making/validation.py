"""Whether a broken tree makes a task: something that passed fails, twice alike, and passes again
with the solution.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.coverage import Coverage, changed_functions, read_coverage
from synth.envs.repo.making.goals.goal import goal_of
from synth.envs.repo.making.runs import (
    TIME_S,
    SeenFailure,
    TestRun,
    as_changes,
    pristine_branch,
    seen_tests,
)
from synth.envs.repo.making.trees import Texts, both_texts, checked_texts, whole_texts
from synth.envs.repo.pool import Library, RepoTask, base_of, tools_of
from synth.schemas import content_hash

MOST_WHOLE = 256
"""Runs of whole trees that are remembered: most tasks of a library share theirs."""


class Validation:
    """Runs tests for the tasks of one pool, and remembers what whole trees do."""

    def __init__(self, pool: Path) -> None:
        self._pool = pool
        self._whole: dict[str, frozenset[str]] = {}
        self._coverage: dict[str, Coverage] = {}

    async def task(self, library: Library, broken: BrokenTree) -> RepoTask | str:
        """The task that a broken tree makes, or why it makes none."""
        tree = base_of(self._pool, library.name)
        files = self.seeing(library, tree, broken)
        if not files:
            return "no test can see it"

        checked = checked_texts(broken, library.protected)
        first = await self._run(library, checked, files)
        reason = _unfit(first, told=bool(broken.hint))
        if reason is not None:
            return reason

        passing = await self._passing(library, whole_texts(broken), files)
        if not passing - first.passed:
            return "survives: no test fails"

        second = await self._run(library, checked, files)
        if {name: first.outcomes.get(name) for name in passing} != {
            name: second.outcomes.get(name) for name in passing
        }:
            return "not twice alike"

        failing = {name: _alike(name, first, second) for name in sorted(passing - first.passed)}
        return self._written(library, tree, broken, files, failing)

    def seeing(self, library: Library, tree: Path, broken: BrokenTree) -> tuple[str, ...]:
        """The test files that can see an edit, hidden ones too; all where that is not known."""
        if library.name not in self._coverage:
            self._coverage[library.name] = read_coverage(self._pool, library.name)
        coverage, found = self._coverage[library.name], set(broken.hidden)
        everything = frozenset(library.tests.values())
        for path, (whole, seen) in both_texts(tree, broken).items():
            if not path.endswith(".py") or not coverage.functions:
                found |= everything
            elif path in everything:
                found.add(path)
            else:
                old, new = changed_functions(whole, seen)
                found |= coverage.files(library, path, old or new)
        return tuple(sorted(path for path in found if broken.solution.get(path, "") is not None))

    async def _run(self, library: Library, texts: Texts, files: Sequence[str]) -> TestRun:
        """Tests in a tree that differs from the pristine one by some texts."""
        tools = tools_of(self._pool).absolute()
        async with pristine_branch(self._pool, library) as branch:
            await branch.apply(as_changes(texts))
            return await seen_tests(branch, library.engine, files, tools=tools, time_s=TIME_S)

    async def _passing(
        self, library: Library, texts: Texts, files: Sequence[str]
    ) -> frozenset[str]:
        """What passes in a whole tree, twice alike; of files as they are, what always did."""
        key = content_hash([library.digest, dict(texts), list(files)])
        if key not in self._whole:
            runs = [await self._run(library, texts, files) for _ in range(2)]
            passed = frozenset(
                name
                for name in runs[0].passed & runs[1].passed
                if name in library.tests or runs[0].tests[name].file in texts
            )
            while len(self._whole) >= MOST_WHOLE:
                self._whole.pop(next(iter(self._whole)))
            self._whole[key] = passed
        return self._whole[key]

    def _written(
        self,
        library: Library,
        tree: Path,
        broken: BrokenTree,
        files: tuple[str, ...],
        failing: Mapping[str, SeenFailure],
    ) -> RepoTask | str:
        """The task with its goal."""
        chance = Random(content_hash(dict(broken.edits)))
        goal = goal_of(library.name, tree, broken, failing, chance)
        if goal is None:
            return "its goal would give the edit away"
        fields = {name: getattr(broken, name) for name in _KEPT}
        return RepoTask.identified(
            **fields,
            library=library.name,
            goal=goal,
            failing=tuple(failing),
            test_files=tuple(path for path in files if path not in broken.hidden),
        )


_KEPT = ("kind", "edits", "solution", "hidden", "sites", "steps", "about")


def _unfit(run: TestRun, *, told: bool) -> str | None:
    """Why nothing can be made of a run. Tests that cannot even be read are a task where the goal
    tells what is missing.
    """
    if run.ended_by is not None:
        return f"ended by its limit of {run.ended_by}"
    if not run.tests and not (told and run.broken):
        return "no test can be read" if run.broken else "the tests do not run to their end"
    return None


def _alike(name: str, first: TestRun, second: TestRun) -> SeenFailure:
    """How a test failed, without what differs from run to run."""
    seen = first.tests.get(name)
    if seen is None:  # its file could not be read
        return SeenFailure(outcome="error", file=name.partition("::")[0])
    if seen == second.tests.get(name):
        return seen
    return msgspec.structs.replace(seen, message="", compared=None)
