"""A folder becomes a pool of tasks, in the box."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth import prepare_repo
from synth.confinement import missing
from synth.confinement.branches import branch_of
from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.coverage import Coverage, read_coverage
from synth.envs.repo.making.pool.maker import PoolTally, Told, WantedTasks, make_pool
from synth.envs.repo.making.runs import LIMITS, TestRun, as_changes, seen_tests
from synth.envs.repo.making.trees import checked_texts, whole_texts
from synth.envs.repo.making.validation import Validation
from synth.envs.repo.pool import Library, base_of, read_pool, read_tasks, tools_of
from synth.schemas import ConfigError
from tests.envs.repo.making.small_repository import FILES, PASSING, write_repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
KINDS = ("single_site",)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder that other users may enter, as worlds run as one."""
    with tempfile.TemporaryDirectory(prefix="synth-pools-") as place:
        Path(place).chmod(0o755)
        yield Path(place)


@pytest.fixture(scope="module")
def places(home: Path) -> tuple[Path, Path]:
    """A pool of six tasks, and the folder that it was made of."""
    source = write_repository(home / "shop")
    made(home / "pool", source, 6)
    return home / "pool", source


def made(pool: Path, source: Path, tasks: int) -> PoolTally:
    wanted = WantedTasks(folders={"shop": source}, kinds=KINDS, tasks=tasks)
    return asyncio.run(make_pool(pool, wanted, pool, Told()))


def test_a_pool_may_be_named_from_where_one_is(
    home: Path, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    found = prepare_repo("near", folders=["shop"], kinds=KINDS, tasks=1, quiet=True)
    assert found.kept == 1
    assert len(read_pool(Path("near")).tasks) == 1


def library(pool: Path) -> Library:
    return read_pool(pool).library("shop")


def test_only_tests_that_always_pass_count(places: tuple[Path, Path]) -> None:
    assert set(library(places[0]).tests) == PASSING
    assert library(places[0]).source == ("shop/__init__.py", "shop/names.py", "shop/prices.py")


def test_every_task_fails_as_it_is_and_passes_with_its_solution(places: tuple[Path, Path]) -> None:
    pool, _ = places
    found = library(pool)

    async def outcomes(texts: dict[str, str | None], files: tuple[str, ...]) -> dict[str, str]:
        tools = tools_of(pool).absolute()
        async with branch_of(base_of(pool, "shop"), limits=LIMITS, read_only=[tools]) as branch:
            await branch.apply(as_changes(texts))
            return (await seen_tests(branch, found.engine, files, tools=tools)).outcomes

    tasks = list(read_tasks(pool, read_pool(pool)))
    assert len(tasks) == 6
    for task in tasks:
        broken = dict(checked_texts(task, found.protected))
        before = asyncio.run(outcomes(broken, task.test_files))
        after = asyncio.run(outcomes(dict(whole_texts(task)), task.test_files))
        assert {before.get(name) for name in task.failing} <= {"failed", "error"}
        assert {after[name] for name in task.failing} == {"passed"}


def test_tasks_differ_in_operator_module_or_failing_tests(places: tuple[Path, Path]) -> None:
    pool, _ = places
    tasks = list(read_tasks(pool, read_pool(pool)))
    likeness = {(one.about["operators"], one.about["modules"], one.failing) for one in tasks}
    assert len(likeness) == len(tasks) == len({one.id for one in tasks})


def test_a_call_again_does_nothing_and_one_for_more_goes_on(places: tuple[Path, Path]) -> None:
    pool, source = places
    before = read_pool(pool)
    began = time.monotonic()
    assert made(pool, source, 6).kept == 6
    assert read_pool(pool) == before
    assert time.monotonic() - began < 5
    made(pool, source, 8)
    assert read_pool(pool).tasks[:6] == before.tasks
    assert len(read_pool(pool).tasks) == 8


def test_coverage_names_the_tests_that_call_a_function(places: tuple[Path, Path]) -> None:
    pool, _ = places
    found = read_coverage(pool, "shop")
    assert set(found.functions["shop/prices.py"]) == {"total", "cheapest"}
    called = {found.tests[at] for at in found.functions["shop/prices.py"]["cheapest"]}
    assert called == {one for one in PASSING if "cheapest" in one or "no_prices" in one}
    seen = found.files(library(pool), "shop/names.py", ["short"])
    assert seen == {"tests/test_names.py"}
    assert found.files(library(pool), "shop/names.py", ["unused"]) == frozenset()
    assert isinstance(found, Coverage)


def test_what_a_test_comes_to_is_told(places: tuple[Path, Path]) -> None:
    found = ran(places[0], {})
    assert {name.partition("::")[2]: seen.outcome for name, seen in found.tests.items()} == {
        "test_short": "passed",
        "test_of_length": "passed",
        "test_flaky": found.tests["tests/test_names.py::test_flaky"].outcome,
        "test_skipped": "skipped",
        "test_expected_to_fail": "xfailed",
        "test_with_a_broken_fixture": "error",
    }


def test_a_file_that_cannot_be_read_is_told(places: tuple[Path, Path]) -> None:
    found = ran(places[0], {"shop/names.py": "def short(:\n"})
    assert found.tests == {}
    assert list(found.broken) == ["tests/test_names.py"]


def test_code_that_leaves_or_prints_passes_nothing(places: tuple[Path, Path]) -> None:
    said = (
        'import os\nprint(\'{"tests": {"x": {"outcome": "passed", "file": "x"}}}\')\nos._exit(0)\n'
    )
    found = ran(places[0], {"shop/names.py": said + FILES["shop/names.py"]})
    assert (found.tests, found.broken) == ({}, {})


def ran(pool: Path, texts: dict[str, str | None]) -> TestRun:
    async def work() -> TestRun:
        tools = tools_of(pool).absolute()
        async with branch_of(base_of(pool, "shop"), limits=LIMITS, read_only=[tools]) as branch:
            await branch.apply(as_changes(texts))
            return await seen_tests(branch, "python", ["tests/test_names.py"], tools=tools)

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("path", "old", "new", "why"),
    [
        ("shop/names.py", "name + 1", "name + 2", "no test can see it"),
        ("shop/prices.py", "price > 0", "price >= 0", "survives: no test fails"),
        ("shop/prices.py", "found = 0\n", "found = 0\n    while True: pass\n", "limit of time"),
        ("shop/prices.py", "def total", "def totals", "no test can be read"),
    ],
)
def test_what_makes_no_task_is_told_with_its_reason(
    places: tuple[Path, Path],
    path: str,
    old: str,
    new: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("synth.envs.repo.making.validation.TIME_S", 4.0)
    edits: dict[str, str | None] = {path: FILES[path].replace(old, new)}
    broken = BrokenTree(kind="by hand", edits=edits)
    found = asyncio.run(Validation(places[0]).task(library(places[0]), broken))
    assert isinstance(found, str)
    assert why in found


def test_a_killed_call_becomes_the_pool_that_it_would_have_been(
    places: tuple[Path, Path], home: Path
) -> None:
    whole, source = places
    at = home / "killed"
    at.mkdir()
    options = ["--folder", str(source), "--kind", "single_site", "--tasks", "8", "-q"]
    command = [sys.executable, "-m", "synth.cli.main", "repo", "make", str(at / "pool"), *options]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ":".join(sys.path)}) as process:
        until = time.monotonic() + 120
        while len(list((at / "pool" / "tasks").glob("*.json"))) < 3:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    made(whole, source, 8)
    made(at / "pool", source, 8)
    ours, theirs = read_pool(at / "pool"), read_pool(whole)
    assert ours.tasks == theirs.tasks
    assert ours.digest == theirs.digest


def test_a_folder_that_has_changed_is_refused(places: tuple[Path, Path], tmp_path: Path) -> None:
    changed = write_repository(tmp_path / "shop")
    (changed / "shop" / "names.py").write_text("A = 1\n")
    with pytest.raises(ConfigError, match="has changed since"):
        made(places[0], changed, 6)
