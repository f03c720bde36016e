"""Trees that mean harm: nothing outside is read or written, nobody waits for ever."""

import asyncio
import os
from collections.abc import Awaitable
from pathlib import Path

import pytest

from synth.confinement import Branch, FileChange, ProcessLimits, branch_of, missing
from tests.synth.confinement.test_branches import played, shell

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
LIMITS = ProcessLimits()


async def refused(act: Awaitable[object]) -> None:
    """Whatever the system says: it is not done."""
    try:
        await act
    except OSError:
        return
    raise AssertionError("it was done")


@pytest.mark.parametrize(
    "path", ["out", "up/etc/passwd", "../a", "/etc/passwd", "d/../../a", "loop"]
)
def test_no_link_leads_out(way: str, base: Path, path: str) -> None:
    async def play(branch: Branch) -> None:
        await shell(branch, "ln -s loop loop")
        for act in (branch.read(path, 9), branch.write(path, b"x"), branch.listed(path)):
            await refused(act)
        await refused(branch.write(f"{path}/x", b"x"))

    played(base, play)


def test_changes_are_laid_over_no_link(way: str, base: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (base / "away").symlink_to(outside)

    async def play(branch: Branch) -> None:
        await refused(branch.apply({"away/x": FileChange(b"x")}))
        for path in ("../x", "/x", "..", ""):
            await refused(branch.apply({path: FileChange(b"x")}))
        await branch.apply({"away/y": None, "away": FileChange(b"now a file")})
        assert await branch.read("away", 99) == b"now a file"

    played(base, play)
    assert list(outside.iterdir()) == []


def test_pipes_sockets_and_closed_folders_hold_nobody_up(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        await shell(branch, "mkfifo p; rm a; mkfifo a; chmod 000 d; chmod 000 .")
        for path in ("p", "a"):
            for act in (branch.read(path, 9), branch.write(path, b"x")):
                await refused(asyncio.wait_for(act, 5))
        changed = await branch.changes()
        assert changed == {"a": None}
        point = await branch.freeze()
        await branch.thaw(point)
        assert "p" in await branch.listed(".")

    played(base, play)


TURNED = (
    "rm -r d; echo file > d",
    "rm d; mkdir d; echo new > d/n",
    "rm -r d; mkdir -p d/e; echo c2 > d/e/c",
    "rm a; mkdir a; echo 1 > a/a",
    "rm -r a; ln -s d a",
    "rm -r d",
)
TURNED_CHANGES: list[dict[str, FileChange | None]] = [
    {"d": FileChange(b"file\n"), "d/b": None, "d/e/c": None},
    {"d/b": None, "d/e/c": None, "d/n": FileChange(b"new\n")},
    {"d/b": None, "d/e/c": FileChange(b"c2\n")},
    {"a": None, "a/a": FileChange(b"1\n"), "d/b": None, "d/e/c": FileChange(b"c2\n")},
    {"a": FileChange(b"", 0o777, "d"), "d/b": None, "d/e/c": FileChange(b"c2\n")},
    {"a": FileChange(b"", 0o777, "d"), "d/b": None, "d/e/c": None},
]


def test_files_become_folders_and_folders_files_over_many_layers(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        points = []
        for line, change in zip(TURNED, TURNED_CHANGES, strict=True):
            await shell(branch, line)
            assert await branch.changes() == change
            points.append(await branch.freeze())
        for point, change in reversed(list(zip(points, TURNED_CHANGES, strict=True))):
            await branch.thaw(point)
            assert await branch.changes() == change

    played(base, play)


def test_names_of_any_bytes(way: str, base: Path) -> None:
    name = os.fsdecode(b"n\xff\n\x1b[31m -x")

    async def play(branch: Branch) -> None:
        await branch.write(name, b"1")
        await branch.run(["/bin/cp", "--", name, name + "2"])
        assert set(await branch.changes()) == {name, name + "2"}
        async with branch_of(base, limits=LIMITS) as other:
            await other.apply(await branch.changes())
            assert await other.read(name + "2", 9) == b"1"

    played(base, play)


def test_what_is_deeper_than_a_path_can_say_is_frozen_and_goes(way: str, base: Path) -> None:

    deep = (
        "import os\nfor _ in range(1500): os.mkdir('dddddddd'); os.chdir('dddddddd')\n"
        "open('f', 'w')"
    )

    async def play(branch: Branch) -> None:
        assert (await branch.run(["python3", "-c", deep])).code == 0
        assert await branch.changes() == {}
        if way == "copies":  # `cp` cannot
            await refused(branch.freeze())
            return

        point = await branch.freeze()
        await shell(branch, "rm -rf dddddddd; touch n")
        await branch.thaw(point)
        assert "dddddddd/" in await branch.listed(".")

    played(base, play)


def test_huge_files_end_at_the_limits_and_changes_do_not_fill_our_memory(
    way: str, base: Path
) -> None:
    async def play(branch: Branch) -> None:
        found = await branch.run(["/bin/sh", "-c", "head -c 90000000 /dev/zero > big"])
        assert found.ended_by == "size"
        await shell(branch, "for i in 1 2 3; do head -c 40000000 /dev/zero > f$i; done")
        with pytest.raises(OSError, match="more than 64 MB"):
            await branch.changes()
        found = await branch.run(
            ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7; do head -c 60000000 /dev/zero > g$i; done"]
        )
        assert found.ended_by == "size"
        assert (await branch.run(["/bin/sh", "-c", "rm f* g* big; echo 1 > a"])).ended_by is None

    played(base, play, ProcessLimits(disk_mb=256, file_mb=64, memory_mb=1024))


def test_as_many_files_as_there_is_room_for_leave_the_tree_as_it_was(way: str, base: Path) -> None:
    fill = "i=0; while : > d/$i; do i=$((i + 1)); test $i -lt 5000 || break; done 2> /dev/null"

    async def play(branch: Branch) -> None:
        before = await branch.read("a", 99)
        for _ in range(3):
            await branch.run(["/bin/sh", "-c", fill])
        assert await branch.read("a", 99) == before
        assert await shell(branch, "echo fine") == "fine\n"
        assert len(await branch.changes()) > 2000
        await branch.thaw(await branch.freeze())
        await branch.write("last", b"x")
        assert await branch.read("last", 9) == b"x"

    played(base, play, ProcessLimits(disk_mb=16, file_mb=8))


def test_whiteouts_and_attributes_of_overlays_cannot_be_made_inside(way: str, base: Path) -> None:
    code = (
        "import os, stat\n"
        "for name in ('user.overlay.opaque', 'trusted.overlay.opaque', 'user.overlay.whiteout'):\n"
        "    try: os.setxattr('d', name, b'y')\n"
        "    except OSError as error: pass\n"
        "try: os.mknod('w', stat.S_IFCHR, 0)\n"
        "except OSError: pass\n"
    )

    async def play(branch: Branch) -> None:
        await branch.run(["python3", "-c", code])
        point = await branch.freeze()
        await branch.thaw(point)
        assert await shell(branch, "cat d/b d/e/c") == "b\nc\n"
        assert await branch.changes() == {}

    played(base, play)


def test_a_background_process_writes_nothing_after_its_command(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        line = "(while :; do echo x >> n; done) > /dev/null 2>&1 & sleep 0.1"
        await shell(branch, line)
        first = await branch.read("n", 1 << 24)
        await asyncio.sleep(0.2)
        assert await branch.read("n", 1 << 24) == first != b""

    played(base, play)


def test_other_branches_layers_and_the_host_are_not_seen(way: str, base: Path) -> None:
    async def play(branch: Branch) -> None:
        await branch.write("secret", b"s")
        await branch.freeze()
        async with branch_of(base, limits=LIMITS) as other:
            said = await shell(
                other, "cat secret; ls /sys /home /root; ls /proc | grep -c '^[0-9]'; ls /"
            )
            assert int(next(line for line in said.splitlines() if line.isdigit())) < 8
            assert said.count("No such file") == 4
            mounts = await shell(other, "cat /proc/self/mountinfo")
            assert str(base) not in mounts or way == "copies"
            assert "secret" not in await shell(other, "find / -xdev 2>/dev/null")

    played(base, play)
