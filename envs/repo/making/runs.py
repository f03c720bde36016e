"""Runs tests of a repository in the box, and says what came of each."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from synth.confinement import ProcessLimits
from synth.confinement.branches import Branch, FileChange, branch_of
from synth.envs.repo.pool import Engine, Library, base_of, tools_of

LIMITS = ProcessLimits(memory_mb=1024, processes=64, file_mb=64, disk_mb=256, cpu_s=120)
TIME_S = 90.0
PASSED = "passed"
COMMANDS: Mapping[Engine, tuple[str, ...]] = {
    "python": (
        "bin/pytest",
        "-q",
        "--tb=no",
        "--continue-on-collection-errors",  # a hidden file may need what is missing
    ),
    "node": ("bin/node-test",),
}
"""By engine, what of a pool's tools runs the test files that follow, and writes what came of them
to the descriptor that SYNTH_RESULT_FD names (`inside/synth_results.py` says in which form).
"""


class SeenFailure(msgspec.Struct, frozen=True, kw_only=True):
    """How a test failed, as the plug-in saw it. `compared`: one side, the operator, the other;
    `given`: its parameters by name, as they print themselves.
    """

    outcome: str
    file: str
    line: int = 0
    error: str = ""
    message: str = ""
    compared: tuple[str, str, str] | None = None
    doc: str = ""
    given: Mapping[str, str] = {}


class TestRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one run: tests by id, files that could not be read, what ended it before its
    time. A test that is missing did not pass.
    """

    tests: Mapping[str, SeenFailure] = {}
    broken: Mapping[str, str] = {}
    ended_by: str | None = None
    seconds: float = 0.0

    @property
    def outcomes(self) -> dict[str, str]:
        """Test id -> passed, failed, error, skipped, xfailed or xpassed."""
        return {name: seen.outcome for name, seen in self.tests.items()}

    @property
    def passed(self) -> frozenset[str]:
        """The tests that passed."""
        return frozenset(name for name, seen in self.tests.items() if seen.outcome == PASSED)


def pristine_branch(pool: Path, library: Library) -> AbstractAsyncContextManager[Branch]:
    """A branch of a library's pristine tree, which shows the pool's tools."""
    tools = tools_of(pool).absolute()
    return branch_of(base_of(pool, library.name), limits=LIMITS, read_only=[tools])


async def seen_tests(
    branch: Branch,
    engine: Engine,
    files: Sequence[str],
    *,
    tools: Path,
    time_s: float = TIME_S,
) -> TestRun:
    """What came of each test of some files (of all that pytest finds, where none is named).

    `tools`, an absolute path, must be among what the branch shows read-only.
    """
    said, ended_by, seconds = await _told(branch, engine, files, tools=tools, time_s=time_s)
    try:
        found = msgspec.json.decode(said, type=TestRun) if said else TestRun()
    except msgspec.DecodeError:  # the repository's own code has written there
        found = TestRun()
    return msgspec.structs.replace(found, ended_by=ended_by, seconds=seconds)


async def listened(
    pool: Path, library: Library, listener: str, time_s: float
) -> tuple[bytes, str | None]:
    """What another plug-in (a module of `inside`) wrote while all tests of a library ran in its
    pristine tree, and what ended the run before its time.
    """
    async with pristine_branch(pool, library) as branch:
        said, ended_by, _ = await _told(
            branch,
            library.engine,
            sorted(set(library.tests.values())),
            tools=tools_of(pool).absolute(),
            environment={"SYNTH_LISTENER": listener},
            time_s=time_s,
        )
    return said, ended_by


async def _told(
    branch: Branch,
    engine: Engine,
    files: Sequence[str],
    *,
    tools: Path,
    environment: Mapping[str, str] = {},
    time_s: float = TIME_S,
) -> tuple[bytes, str | None, float]:
    """What the plug-in wrote, what ended the run before its time, seconds."""
    program, *options = COMMANDS[engine]
    began = time.monotonic()
    ran = await branch.run(
        [f"{tools}/{program}", *options, *files],
        environment=environment,
        time_s=time_s,
        result=True,
    )
    return ran.result, ran.ended_by, time.monotonic() - began


def as_changes(texts: Mapping[str, str | None]) -> dict[str, FileChange | None]:
    """Texts by path as changes of a tree; None is a file that goes."""
    return {
        path: None if text is None else FileChange(data=text.encode(), mode=0o644)
        for path, text in texts.items()
    }
