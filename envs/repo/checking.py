"""Facts of a tree: which tests pass where the agent's changes of the source, and nothing else, are
laid over the task's tree with its tests as they were.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Generic, TypeVar

import msgspec

from synth.confinement.branches import FileChange, new_branch
from synth.envs.repo.copies import shown
from synth.envs.repo.making.runs import TestRun, seen_tests
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import Changes, TaskTree
from synth.envs.repo.terminal.live_tree import digest_of
from synth.envs.repo.terminal.shell import TOOLS
from synth.schemas import Check, RowPredicate, content_hash

T = TypeVar("T")


class RememberedByTree(Generic[T]):
    """What came of tests, by the tree that they ran in: the same tree is not tested again. Beyond
    `most` trees, those asked about longest ago go first.
    """

    def __init__(self, most: int) -> None:
        self._most, self._known = most, OrderedDict[str, T]()

    async def of(self, place: TaskTree, mine: Changes, run: Callable[[], Awaitable[T]]) -> T:
        """What came of them in the task's tree with these changes, by `run` where nobody knows."""
        told = sorted((path, digest_of(one)) for path, one in mine.items())
        name = content_hash([str(place.base), place.library.digest, place.task.id, told])
        if name not in self._known:
            self._known[name] = await run()
            while len(self._known) > self._most:
                self._known.popitem(last=False)

        self._known.move_to_end(name)

        return self._known[name]


_PASSED = RememberedByTree[frozenset[str]](4096)


async def passing(place: TaskTree, changes: Changes, settings: RepoSettings) -> frozenset[str]:
    """The tests that pass in a fresh branch with these changes of the source; none where the run
    was ended before its time.
    """
    mine = counted(place, changes)
    if not mine and not place.task.hidden and not place.task.solution:
        return _at_start(place)

    async def run() -> frozenset[str]:
        files = sorted({*place.task.test_files, *place.task.hidden})
        return (await outcomes_of(place, {**mine, **place.judged_with}, files, settings)).passed

    return await _PASSED.of(place, mine, run)


async def outcomes_of(
    place: TaskTree, changes: Changes, tests: Sequence[str], settings: RepoSettings
) -> TestRun:
    """What comes of some tests in a fresh branch of the task's tree with these changes."""
    branch = await new_branch(place.base, limits=settings.limits, read_only=await shown(place))
    engine, tools = place.library.engine, Path(TOOLS)
    laid = {**place.broken_source, **changes}

    try:
        await branch.apply({**laid, **_marked(place, laid, tests)})
        return await seen_tests(branch, engine, tests, tools=tools, time_s=settings.tests_s)
    finally:
        await branch.close()


def _marked(place: TaskTree, laid: Changes, tests: Sequence[str]) -> Changes:
    """The files of tests with a comment that no agent has seen, another one in each run: code that
    behaves only where tests are as it found them finds none of them so, in no run of ours.
    """
    sign = b"//" if place.library.engine == "node" else b"#"
    found = dict[str, FileChange | None]()
    for path in tests:
        one = laid[path] if path in laid else place.pristine_file(path)
        if one is not None and one.link is None:
            mark = b"\n%b %b\n" % (sign, token_hex(8).encode())
            found[path] = msgspec.structs.replace(one, data=one.data + mark)

    return found


def _at_start(place: TaskTree) -> frozenset[str]:
    """What passes in the broken tree, as it was found when the task was made."""
    tests, files = place.library.tests, place.task.test_files
    return frozenset(name for name in tests if tests[name] in files) - set(place.task.failing)


def counted(place: TaskTree, changes: Changes) -> Changes:
    """The changes that may be part of a solution: of files of source, no link."""
    return {
        path: one
        for path, one in changes.items()
        if place.counts(path) and (one is None or one.link is None)
    }


def tests_of(place: TaskTree, passing_at_start: frozenset[str]) -> list[str]:
    """The tests that facts are about: those of the check's files that pass in the pristine tree,
    and those of hidden files that fail or pass at the start.
    """
    task = place.task
    known = {name for name, file in place.library.tests.items() if file in task.test_files}
    return sorted(known | set(task.failing) | passing_at_start)


def facts_of(
    place: TaskTree, tests: list[str], passed: frozenset[str], changes: Changes
) -> Mapping[str, bool | str]:
    """`test/<id>/passed`, and a digest of each file that differs from the start."""
    files = {f"file/{key_of(path)}/digest": digest_of(one) for path, one in changes.items()}
    return {
        **{f"test/{key_of(name)}/passed": name in passed for name in tests},
        **{path: digest or "gone" for path, digest in files.items()},
    }


def key_of(name: str) -> str:
    """A name as one segment of a fact's path."""
    return name.replace("~", "~0").replace("/", "~1")


def name_of(key: str) -> str:
    """The name that a segment stands for."""
    return key.replace("~1", "/").replace("~0", "~")


def check_of(place: TaskTree) -> Check:
    """What is asked for: all that fails is to pass, and what passes is to go on so."""
    required = (
        RowPredicate("test", {"id": key_of(name), "passed": True}) for name in place.task.failing
    )
    return Check(required=tuple(required), free=("file/*/digest",))
