"""A library of a pool: its pristine tree, the tests that always pass there, what they call."""

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from synth.confinement.branches import branch_of
from synth.envs.repo.making.coverage import measure
from synth.envs.repo.making.layout import files_of, matches, protected_patterns, source_of
from synth.envs.repo.making.runs import LIMITS, TestRun, seen_tests
from synth.envs.repo.making.sdists import fetched, release
from synth.envs.repo.making.unpacking import take, unpack
from synth.envs.repo.pool import Library, base_of, tools_of
from synth.schemas import ConfigError, content_hash

RUNS, AT_ONCE, TIME_S = 5, 2, 300.0
FEWEST_TESTS = 5


async def prepared(
    name: str,
    pool: Path,
    *,
    folder: Path | None = None,
    leave_out: Sequence[str] = (),
    archives: Path,
    say: Callable[[str], None] = lambda line: None,
) -> Library:
    """Takes a library into a pool, by its name or out of a user's folder, and runs its tests.
    Raises `ConfigError` where they do not run, or too few pass.
    """
    tree = base_of(pool, name)
    if folder is None:
        pinned = release(name)
        archive = await asyncio.to_thread(fetched, name, archives)
        await asyncio.to_thread(unpack, archive, tree)
        about = {"version": pinned.version, "licence": pinned.licence, "sha256": pinned.sha256}
    else:
        await asyncio.to_thread(take, folder, tree, leave_out)
        about = {"folder": str(folder)}

    library = Library(
        name=name,
        engine="python",
        digest=tree_digest(tree),
        tests={},
        source=source_of(tree),
        protected=protected_patterns(),
        about=about,
    )
    tests = await _always_passing(library, pool)
    library = msgspec.structs.replace(library, tests=tests)
    await _measured(library, pool)
    say(f"{name}: {len(tests):,} tests pass, {RUNS} times alike")
    return library


def tree_digest(tree: Path) -> str:
    """The hash of all files of a tree: paths, contents, and which can be executed."""
    found = [
        (path, sha256((tree / path).read_bytes()).hexdigest(), (tree / path).stat().st_mode & 0o100)
        for path in files_of(tree)
    ]
    return content_hash(found)


async def _always_passing(library: Library, pool: Path) -> dict[str, str]:
    """Test id -> file, of what passes in all of some runs; the others are flaky, or fail."""
    turn = asyncio.Semaphore(AT_ONCE)
    tools = tools_of(pool).absolute()

    async def run() -> TestRun:
        base = base_of(pool, library.name)
        async with turn, branch_of(base, limits=LIMITS, read_only=[tools]) as branch:
            return await seen_tests(branch, library.engine, (), tools=tools, time_s=TIME_S)

    runs = await asyncio.gather(*(run() for _ in range(RUNS)))
    passing = frozenset.intersection(*(one.passed for one in runs))
    if len(passing) < FEWEST_TESTS:
        raise ConfigError(f"{library.name}: {_why_none(runs[0], len(passing))}")

    tests = {name: runs[0].tests[name].file for name in sorted(passing)}
    apart = [path for path in tests.values() if not matches(path, library.protected)]
    if apart:
        raise ConfigError(
            f"{library.name}: {apart[0]} holds tests and is not protected; tests are looked for in "
            "folders named tests or test, and in test_*.py and *_test.py"
        )
    return tests


def _why_none(run: TestRun, count: int) -> str:
    """Why too few tests pass, in one line."""
    if run.ended_by is not None:
        return f"its tests ended by the limit of {run.ended_by} ({TIME_S:.0f} s)"
    if run.broken:
        path, why = next(iter(run.broken.items()))
        last = why.strip().splitlines()[-1]
        return f"its tests cannot be read; {path}: {last}"
    return f"{count} of its {len(run.tests)} tests pass, and tasks need {FEWEST_TESTS} at least"


async def _measured(library: Library, pool: Path) -> None:
    tools = tools_of(pool).absolute()
    base = base_of(pool, library.name)
    async with branch_of(base, limits=LIMITS, read_only=[tools]) as branch:
        await measure(branch, library, pool)
