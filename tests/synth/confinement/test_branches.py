"""Branches of a folder: what commands do in one, what is read of it, and coming back."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from synth.confinement import Branch, FileChange, ProcessLimits, branch_of, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
LIMITS = ProcessLimits()
Play = Callable[[Branch], Awaitable[None]]


def played(base: Path, play: Play, limits: ProcessLimits = LIMITS) -> None:
    """Does something in a branch."""

    async def whole() -> None:
        async with branch_of(base, limits=limits) as branch:
            await play(branch)

    asyncio.run(whole())


async def shell(branch: Branch, line: str) -> str:
    return (await branch.run(["/bin/sh", "-c", line])).output.decode("utf-8", "replace")


def test_commands_work_in_the_tree_and_the_folder_stays(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        said = await shell(branch, "pwd; id -u; cat a; echo more >> a; rm d/b; touch new; ls")
        assert said.split() == ["/repo", "1000", "a", "a", "d", "in", "new", "out", "up", "whole"]
        assert await branch.changes() == {
            "a": FileChange(b"a\nmore\n", 0o644),
            "d/b": None,
            "new": FileChange(b"", 0o644),
        }

    before = sorted((str(p), p.lstat().st_mtime_ns) for p in base.rglob("*"))
    played(base, play)
    assert sorted((str(p), p.lstat().st_mtime_ns) for p in base.rglob("*")) == before
    assert (base / "a").read_text() == "a\n"


def test_a_frozen_point_is_come_back_to_again_and_again(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        await shell(branch, "echo 1 > n; rm d/b; mkdir f")
        point = await branch.freeze()
        seen = await shell(branch, "ls -lAR --full-time; cat n")
        for line in ("rm -r n d; echo 2 > f/x", "rmdir f; echo 2 > f; echo 3 > n", "true"):
            await shell(branch, line)
            await branch.thaw(point)
            assert await shell(branch, "ls -lAR --full-time; cat n") == seen

    played(base, play)


def test_another_branch_of_the_folder_goes_on_from_a_point_though_the_first_is_closed(
    way: str, base: Path
) -> None:
    async def play() -> None:
        async with branch_of(base, limits=LIMITS) as first:
            await first.write("n", b"1")
            point = await first.freeze()
            await first.write("n", b"2")
        async with branch_of(base, limits=LIMITS) as other:
            await other.thaw(point)
            assert await other.read("n", 9) == b"1"
            await other.write("n", b"3")
            await other.thaw(point)
            assert await other.read("n", 9) == b"1"

    asyncio.run(play())


def test_changes_laid_over_another_branch_make_it_the_same(way: str, base: Path) -> None:
    line = (
        "echo 1 > d/b; rm -r d/e; mkdir -p x/y; echo 2 > x/y/z; ln -s x n; chmod +x a; rm in; "
        "mkdir in; touch in/f"
    )

    async def play() -> None:
        async with branch_of(base, limits=LIMITS) as one, branch_of(base, limits=LIMITS) as two:
            await shell(one, line)
            told = await one.changes()
            assert told == {
                "a": FileChange(b"a\n", 0o755),
                "d/b": FileChange(b"1\n", 0o644),
                "d/e/c": None,
                "in": None,
                "in/f": FileChange(b"", 0o644),
                "n": FileChange(b"", 0o777, "x"),
                "x/y/z": FileChange(b"2\n", 0o644),
            }
            await two.apply(told)
            assert await two.changes() == told
            shown = "find . -printf '%P %y %m %l\\n' | sort"
            assert await shell(two, shown) == await shell(one, shown)

    asyncio.run(play())


def test_files_are_read_written_and_listed(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        await branch.write("x/y", b"12345")
        assert await branch.read("x/y", 3) == b"123"
        assert await branch.read("/repo/whole/b", 9) == b"b\n"
        await branch.write("in", b"through the link")
        assert await shell(branch, "cat d/b; readlink in") == "through the linkd/b\n"
        assert list(await branch.listed(".")) == ["a", "d/", "in", "out", "up", "whole", "x/"]
        with pytest.raises(IsADirectoryError):
            await branch.read("d", 9)
        with pytest.raises(FileNotFoundError):
            await branch.read("none", 9)
        with pytest.raises(NotADirectoryError):
            await branch.listed("a")
        assert await shell(branch, "echo 1 >> x/y; stat -c %u x x/y") == "1000\n1000\n"

    played(base, play)


def test_a_result_comes_apart_from_what_is_printed(way: str, base: Path) -> None:
    code = "import os; print('no'); os.write(int(os.environ['SYNTH_RESULT_FD']), b'yes')"

    async def play(branch: Branch) -> None:
        found = await branch.run(["python3", "-c", code], result=True)
        assert (found.code, found.output, found.result) == (0, b"no\n", b"yes")
        assert "KeyError" in (await branch.run(["python3", "-c", code])).output.decode()

    played(base, play)


def test_environment_folder_exit_status_and_both_ends_of_long_output(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        found = await branch.run(
            ["/bin/sh", "-c", 'pwd; echo "$X"; exit 7'], cwd="d/e", environment={"X": "é 'x'"}
        )
        assert (found.code, found.output.decode()) == (7, "/repo/d/e\né 'x'\n")
        found = await branch.run(["seq", "1", "100000"], output_bytes=20)
        assert (found.output, found.left_out) == (
            b"1\n2\n3\n4\n5\n999\n100000\n"[:10] + b"99\n100000\n",
            588895 - 20,
        )
        assert (await branch.run(["no such"])).code == 127

    played(base, play)


def test_times_depend_on_what_was_done_alone(way: str, base: Path) -> None:
    async def play() -> None:
        async with branch_of(base, limits=LIMITS) as one, branch_of(base, limits=LIMITS) as two:
            for branch in (one, two):
                for line in ("echo 1 > n", "ls", "touch -d 2099-01-01 d/b", "echo 2 >> n"):
                    await shell(branch, line)
                    await asyncio.sleep(0.02)
            shown = "ls -lA --full-time . n d/b; stat -c %y ."
            assert await shell(one, shown) == await shell(two, shown)

    asyncio.run(play())
