"""A library of a pool: its pristine tree, the tests that always pass there, what they call."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from synth.envs.data_file import data_file
from synth.envs.repo.kinds.hidden.recording import record
from synth.envs.repo.making.coverage import measure
from synth.envs.repo.making.layout import (
    CODE,
    engine_of,
    matches,
    protected_patterns,
    source_of,
    tree_digest,
)
from synth.envs.repo.making.runs import TestRun, pristine_branch, seen_tests
from synth.envs.repo.making.taking.own import own_library
from synth.envs.repo.making.taking.sdists import fetched, release
from synth.envs.repo.making.taking.unpacking import take, unpack
from synth.envs.repo.making.together import together
from synth.envs.repo.pool import Library, base_of, tools_of
from synth.schemas import ConfigError

NAMED = 3
"""Tests and files that are named where some are left out."""
RUNS, AT_ONCE, TIME_S = 5, 2, 300.0
FEWEST_TESTS = 5
_TOLD = ("repository", "version", "licence", "sha256")


async def prepared(
    name: str,
    pool: Path,
    *,
    folder: Path | None = None,
    leave_out: Sequence[str] = (),
    archives: Path,
    say: Callable[[str], None] = lambda line: None,
    known: Library | None = None,
) -> Library:
    """Takes a library into a pool, by its name or out of a user's folder, and runs its tests;
    `known` is what the pool has of it, and stays where the tree is the same.
    Raises `ConfigError` where they do not run, or too few pass.
    """
    tree = base_of(pool, name)
    if folder is not None and known is not None:
        await asyncio.to_thread(_compared, folder, tree, leave_out, known)
        return known

    about = await asyncio.to_thread(_taken, name, tree, folder, leave_out, archives)
    benchmark = benchmark_of(about.get("repository", name))
    if benchmark is not None:
        about["benchmark"] = benchmark
        say(f"{name}: {benchmark} draws tasks from it; train on none of these")

    library = Library(
        name=name,
        engine=engine_of(tree),
        digest=tree_digest(tree),
        tests={},
        source=source_of(tree, *CODE[engine_of(tree)]),
        protected=protected_patterns(),
        about=about,
    )
    tests = await _always_passing(library, pool, say)
    library = msgspec.structs.replace(library, tests=tests)
    await measure(library, pool)
    await record(library, pool)
    say(f"{name}: {len(tests):,} tests pass, {RUNS} times alike")
    return library


def _taken(
    name: str, tree: Path, folder: Path | None, leave_out: Sequence[str], archives: Path
) -> dict[str, str]:
    """Writes a library's tree; where it is from."""
    own = own_library(name)
    if folder is None and own is not None:
        take(own, tree)
        return {"comes": "with synth", "licence": "Apache-2.0"}
    if folder is not None:
        take(folder, tree, leave_out)
        return {"folder": str(folder)}
    pinned = release(name)
    unpack(fetched(name, pinned, archives), tree)
    if pinned.older is not None:
        older = tree.parent.parent / "older" / name
        older.parent.mkdir(exist_ok=True)
        unpack(fetched(name, pinned.older, archives), older)
    return {one: getattr(pinned, one) for one in _TOLD}


def _compared(folder: Path, tree: Path, leave_out: Sequence[str], known: Library) -> None:
    """Raises `ConfigError` where a user's folder is no longer what a pool has of it."""
    now = tree.with_name(f"{tree.name}.now")
    try:
        take(folder, now, leave_out)
        if tree_digest(now) != known.digest:
            raise ConfigError(
                f"--folder {folder}: has changed since tasks were made of it; make another pool"
            )
    finally:
        shutil.rmtree(now, ignore_errors=True)


def benchmark_of(repository: str) -> str | None:
    """The public benchmark that draws from a repository, which is known by owner/name or by its
    name.
    """
    wanted = repository.lower()
    for benchmark, known in data_file("repo/benchmarks").items():
        for one in known:
            if wanted in (one.lower(), one.lower().rpartition("/")[2]):
                return str(benchmark)
    return None


async def _always_passing(
    library: Library, pool: Path, say: Callable[[str], None]
) -> dict[str, str]:
    """Test id -> file, of what passes in all of some runs; the others are flaky, or fail."""
    turn = asyncio.Semaphore(AT_ONCE)
    tools = tools_of(pool).absolute()

    async def run() -> TestRun:
        async with turn, pristine_branch(pool, library) as branch:
            return await seen_tests(branch, library.engine, (), tools=tools, time_s=TIME_S)

    first = await run()
    if first.ended_by is not None:
        raise ConfigError(f"{library.name}: {_why_none(first, 0)}")
    runs = [first, *await together(run() for _ in range(RUNS - 1))]
    passing = frozenset.intersection(*(one.passed for one in runs))
    if len(passing) < FEWEST_TESTS:
        raise ConfigError(f"{library.name}: {_why_none(runs[0], len(passing))}")

    _tell_left_out(library.name, runs, passing, say)
    tests = {name: runs[0].tests[name].file for name in sorted(passing)}
    apart = [path for path in tests.values() if not matches(path, library.protected)]
    if apart:
        raise ConfigError(
            f"{library.name}: {apart[0]} holds tests and is not protected; tests are looked for in "
            "folders named tests or test, and in test_*.py and *_test.py"
        )
    return tests


def _tell_left_out(
    name: str, runs: Sequence[TestRun], passing: frozenset[str], say: Callable[[str], None]
) -> None:
    """Which tests no task is about."""
    others = sorted(set().union(*(one.tests for one in runs)) - passing)
    unread = sorted(set().union(*(one.broken for one in runs)))
    if others or unread:
        named = ", ".join([*unread, *others][:NAMED])
        say(
            f"{name}: left out: {len(others):,} tests that fail or are flaky, "
            f"{len(unread):,} files that cannot be read ({named})"
        )


def _why_none(run: TestRun, count: int) -> str:
    """Why too few tests pass, in one line."""
    if run.ended_by is not None:
        limit = f"{TIME_S:.0f} s" if run.ended_by == "time" else run.ended_by
        return (
            f"its tests did not end within their limit ({limit}); leave out the file that holds "
            "the one that does not, by `--leave-out`"
        )
    if run.broken:
        path, why = next(iter(run.broken.items()))
        last = why.strip().splitlines()[-1]
        return f"its tests cannot be read; {path}: {last}"
    if not run.tests:
        return "no test ran: none is found, or what runs them does not start"
    return f"{count} of its {len(run.tests)} tests pass, and tasks need {FEWEST_TESTS} at least"
