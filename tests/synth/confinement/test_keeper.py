"""The keeper of branches: killed, left alone, asked by many; its mounts are nobody else's."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from synth.confinement import Branch, KeeperEndedError, ProcessLimits, branch_of, keeping, missing
from synth.confinement.keeper.stale import PREFIX
from tests.synth.confinement.test_branches import played, shell

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
LIMITS = ProcessLimits()


def ours(folder: str) -> list[str]:
    return [place.name for place in Path(folder).iterdir() if place.name.startswith(PREFIX)]


def mounts_of(process: str) -> list[str]:
    return Path("/proc", process, "mountinfo").read_text().splitlines()


def test_when_the_keeper_is_killed_its_branches_say_so_and_new_ones_are_made(
    way: str, base: Path
) -> None:
    async def play() -> None:
        async with branch_of(base, limits=LIMITS) as branch:
            point = await branch.freeze()
            os.kill(keeping.keeper().process, 9)
            for act in (
                branch.freeze(),
                branch.read("a", 9),
                branch.run(["true"]),
                branch.thaw(point),
            ):
                with pytest.raises(KeeperEndedError):
                    await asyncio.wait_for(act, 10)
            async with branch_of(base, limits=LIMITS) as other:
                assert await other.read("a", 9) == b"a\n"
                with pytest.raises(KeeperEndedError):
                    await other.thaw(point)

    asyncio.run(play())


def test_a_question_whose_asker_is_gone_ends_with_its_branch(base: Path) -> None:
    async def play() -> None:
        line = keeping.keeper().connection()
        os.kill(keeping.keeper().process, signal.SIGSTOP)
        try:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(line.ask("anything"), 0.05)
            (open_still,) = asyncio.all_tasks() - {asyncio.current_task()}
            line.close()
            await asyncio.wait([open_still], timeout=5)
            assert open_still.cancelled()
        finally:
            os.kill(keeping.keeper().process, signal.SIGCONT)

    asyncio.run(play())


def test_no_mount_is_seen_outside_and_none_is_left(way: str, base: Path) -> None:
    before = mounts_of("self")

    async def play() -> None:
        kept = str(keeping.keeper().process)
        empty = len(mounts_of(kept))
        for _ in range(3):
            async with branch_of(base, limits=LIMITS) as branch:
                await branch.write("n", b"1")
                await branch.freeze()
                await branch.write("n", b"2")
                assert mounts_of("self") == before
        async with branch_of(base, limits=LIMITS) as branch:
            await branch.listed(".")  # what was dropped is told now
        assert len(mounts_of(kept)) <= empty + 1, "the base alone"

    asyncio.run(play())


def test_a_keeper_ends_with_its_parent_and_leaves_no_file(base: Path) -> None:
    code = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from synth.confinement import ProcessLimits, branch_of, keeping\n"
        "async def main():\n"
        "    keeping.only_copies()\n"
        "    async with branch_of(Path(sys.argv[1]), limits=ProcessLimits()):\n"
        "        print(keeping.keeper().process, flush=True)\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(base)], capture_output=True, text=True, check=False
    )
    process = Path("/proc", done.stdout.strip())
    until = time.monotonic() + 10
    while (
        process.exists()
        and b"Z" not in (process / "stat").read_bytes().split()[2]
        and time.monotonic() < until
    ):
        time.sleep(0.05)
    left = [name for name in ours(tempfile.gettempdir()) if f"-{done.stdout.strip()}-" in name]
    assert left == []


def test_more_layers_than_a_mount_takes(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        points = []
        for number in range(150):
            await branch.write(f"d/{number % 7}", b"%d" % number)
            points.append(await branch.freeze())
        assert await branch.read("d/2", 9) == b"149"
        for number in (149, 0, 61, 60, 62, 120, 7):
            await branch.thaw(points[number])
            assert await branch.read(f"d/{number % 7}", 9) == b"%d" % number
            assert ("6" in await branch.listed("d")) == (number >= 6)

    played(base, play)


def test_many_branches_at_once_are_each_for_themselves(way: str, base: Path) -> None:
    async def one(number: int) -> None:
        async with branch_of(base, limits=LIMITS) as branch:
            await branch.write("n", b"%d" % number)
            point = await branch.freeze()
            await shell(branch, "rm -r d; echo x > n")
            await branch.thaw(point)
            assert await shell(branch, "cat n; ls d") == f"{number}b\ne\n"

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(12)))

    asyncio.run(all_of_them())
