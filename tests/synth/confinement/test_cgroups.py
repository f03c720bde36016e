"""Processes and memory of a whole tree have limits, and no group outlives its tree."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synth.confinement import Branch, ProcessLimits, missing, new_cgroup
from synth.confinement.cgroups import cgroup_folders, no_cgroups
from synth.confinement.hierarchy import SHARES, Hierarchy, hierarchies
from synth.confinement.keeper.stale import dead, mark, sweep
from tests.synth.confinement.test_branches import played

needs_cgroups = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None or no_cgroups(), reason="no cgroups here"),
]
BOMB = (
    "import os, time\nn = 0\ntry:\n  while os.fork(): n += 1\n"
    "except OSError: print(n)\nelse: time.sleep(9)"
)

SPIN = "import os, time\nos.sched_setaffinity(0, {CORE})\nFORKS\nend = time.monotonic() + SECONDS\n"
SPIN += "while time.monotonic() < end: pass\nprint(time.process_time())"


def spinning(*, seconds: float, forks: int = 0) -> list[str]:
    """A program that computes on the first core, in 2 ** forks processes."""
    said = SPIN.replace("CORE", str(min(os.sched_getaffinity(0)))).replace("SECONDS", str(seconds))
    return ["-c", said.replace("FORKS", "os.fork();" * forks or "pass")]


def groups() -> list[str]:
    """The groups that this process has made."""
    return groups_of(os.getpid())


def groups_of(process: int) -> list[str]:
    return [
        place.name
        for folder in cgroup_folders()
        for place in Path(folder).iterdir()
        if f"-{process}-" in place.name
    ]


class TestOfTheKernel:
    """What the kernel does."""

    pytestmark = needs_cgroups

    def test_a_fork_bomb_stops_at_the_limit(self, base: Path) -> None:
        async def play(branch: Branch) -> None:
            found = await branch.run(["python3", "-c", BOMB], time_s=30)
            assert found.ended_by == "processes"
            assert 10 <= int(found.output) <= 23
            found = await branch.run(["bash", "-c", ":(){ :|:& };:; sleep 0.5"], time_s=5)
            assert found.ended_by is not None
            assert (await branch.run(["echo", "fine"])).output == b"fine\n"

        played(base, play, ProcessLimits(processes=20))
        assert groups() == []

    @pytest.mark.skipif(
        not any(
            one.controllers == (SHARES,) for one in hierarchies() if isinstance(one, Hierarchy)
        ),
        reason="no groups of version 1 for computing time",
    )
    def test_one_outside_gets_several_times_as_much_as_one_of_sixteen_busy_ones(
        self, base: Path
    ) -> None:
        """Among equals it would get the same; here it gets sixteen times as much. What else runs on
        the machine takes from both.
        """

        async def play(branch: Branch) -> None:
            busy = ["python3", *spinning(seconds=6, forks=4)]
            inside = asyncio.create_task(branch.run(busy, time_s=30))
            piped = asyncio.subprocess.PIPE
            alone = [sys.executable, *spinning(seconds=6)]
            ours = await asyncio.create_subprocess_exec(*alone, stdout=piped)
            said, _ = await ours.communicate()
            theirs = [float(line) for line in (await inside).output.split()]
            assert theirs  # the first that ends takes the others with it
            assert float(said) > 3 * sum(theirs) / len(theirs)

        played(base, play, ProcessLimits(processes=40))

    def test_a_gigabyte_under_256_megabytes_ends_as_memory(self, base: Path) -> None:
        async def play(branch: Branch) -> None:
            for line in (
                "x = bytearray(10**9)",
                "import os\nfor _ in range(8): os.fork()\nx = bytearray(60 << 20)\n"
                "import time; time.sleep(9)",
                "import mmap; m = mmap.mmap(-1, 10**9); m.write(bytes(10**9))",
            ):
                found = await branch.run(["python3", "-c", line], time_s=30)
                assert found.ended_by == "memory", found
            assert (await branch.run(["echo", "fine"])).output == b"fine\n"

        played(base, play, ProcessLimits(memory_mb=256, processes=400))
        assert groups() == []

    def test_what_is_killed_or_given_up_leaves_no_group_and_no_process(self, base: Path) -> None:
        async def play(branch: Branch) -> None:
            found = await branch.run(["sh", "-c", "sleep 99 & sleep 98"], time_s=0.3)
            assert (found.code, found.ended_by) == (None, "time")
            assert groups() == []
            running = asyncio.create_task(branch.run(["sleep", "97"]))
            await asyncio.sleep(0.3)
            assert groups() != []
            running.cancel()
            await asyncio.wait({running})
            assert groups() == []
            assert (await branch.run(["echo", "fine"])).output == b"fine\n"

        played(base, play)

    def test_groups_of_a_killed_process_are_removed_with_what_is_inside(self) -> None:
        code = (
            "import os, subprocess\n"
            "from synth.confinement import ProcessLimits, new_cgroup\n"
            "made = new_cgroup(ProcessLimits())\n"
            "for entrance in made.entrances: entrance.write_text('0')\n"
            "subprocess.Popen(['sleep', '99'], start_new_session=True)\n"
            "os.kill(os.getpid(), 9)"
        )
        with subprocess.Popen([sys.executable, "-c", code]) as process:
            process.wait()
        left = groups_of(process.pid)
        assert len(left) == len(cgroup_folders())
        for folder in cgroup_folders():
            sweep(Path(folder))
        assert groups_of(process.pid) == []

    def test_a_killed_run_leaves_nothing_behind(self, base: Path) -> None:
        code = (
            "import asyncio, sys\n"
            "from pathlib import Path\n"
            "from synth.confinement import ProcessLimits, branch_of\n"
            "async def main():\n"
            "    async with branch_of(Path(sys.argv[1]), limits=ProcessLimits()) as branch:\n"
            "        print('begun', flush=True)\n"
            "        await branch.run(['sleep', '94.25'])\n"
            "asyncio.run(main())"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(base)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGKILL)
        until = time.monotonic() + 25
        while time.monotonic() < until and _left_of(process.pid):
            time.sleep(0.05)
        inside = {
            str(place): (place / "cgroup.procs").read_text().split()
            for folder in cgroup_folders()
            for place in Path(folder).glob(f"*-{process.pid}-*")
        }
        assert (_left_of(process.pid), inside) == ([], {})


def _left_of(process: int) -> list[str]:
    """The groups and processes of a process that has ended."""
    found = groups_of(process)
    for name in (place.name for place in Path("/proc").iterdir()):
        if name.isdigit():
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"94.25" in words or (b"root" in words and str(process).encode() in words):
                found.append(name)

    return found


@pytest.mark.skipif(no_cgroups(), reason="no cgroups here")
def test_a_group_that_nobody_entered_is_made_and_removed() -> None:
    made = new_cgroup(ProcessLimits())
    assert made is not None
    assert (made.processes, made.met) == ([], None)
    assert len(groups()) == len(cgroup_folders())
    assert made.gone()
    assert groups() == []


@pytest.mark.skipif(no_cgroups(), reason="no cgroups here")
def test_what_could_not_be_removed_is_removed_before_the_next_is_made() -> None:
    """Something inside that nobody can end looks as a group below it does: it cannot be removed."""
    made = new_cgroup(ProcessLimits())
    assert made is not None
    below = made.entrances[0].parent / "below"
    below.mkdir()

    async def cancelled() -> None:
        closing = asyncio.create_task(made.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        await asyncio.wait({closing})

    asyncio.run(cancelled())
    assert groups() != []
    below.rmdir()
    following = new_cgroup(ProcessLimits())
    assert following is not None
    assert len(groups()) == len(cgroup_folders())
    assert following.gone()
    assert groups() == []


def test_names_tell_whose_they_are_and_whether_that_one_lives() -> None:
    now = time.time()
    assert not dead(f"{mark()}7", now)
    assert not dead("another", now)
    assert not dead("synth-mcp-servers-4663", 0)
    container, process, began = mark().removeprefix("synth-").split("-")[:3]
    assert dead(f"synth-{container}-{process}-{int(began) - 1}-7", now)
    assert not dead(f"synth-1-{process}-{began}-7", now), "of another container, and young"
    assert dead(f"synth-1-{process}-{began}-7", now - 7200)


def unified(folder: Path, *, ours: str, handed_down: dict[str, str]) -> tuple[str, str]:
    """Files as they stand where the one hierarchy of version 2 is mounted."""
    for group, controllers in handed_down.items():
        place = folder / "tree" / group
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup.subtree_control").write_text(controllers)
    mounts, own = folder / "mountinfo", folder / "cgroup"
    mounts.write_text(
        f"30 1 0:26 / {folder}/tree rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    own.write_text(f"0::/{ours}\n")
    return str(mounts), str(own)


def test_in_version_2_a_group_is_made_beside_ours_where_ours_hands_nothing_down(
    tmp_path: Path,
) -> None:
    files = unified(
        tmp_path,
        ours="user.slice/session",
        handed_down={"": "cpu memory pids", "user.slice": "memory pids", "user.slice/session": ""},
    )
    place = tmp_path / "tree" / "user.slice"
    (place / "session" / "cgroup.subtree_control").chmod(0o444)
    (place / "session" / "cgroup.subtree_control").unlink()
    (place / "session" / "cgroup.subtree_control").mkdir()  # cannot be written: it has processes
    assert hierarchies(*files) == (Hierarchy(place, ("pids", "memory"), 2),)


def test_limits_and_events_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "memory.swap.max").write_text("max")
    both = Hierarchy(tmp_path.parent, ("pids", "memory"), 2)
    both.limit(tmp_path, 256 << 20, 20)
    names = ("pids.max", "memory.max", "memory.swap.max")
    assert [(tmp_path / name).read_text()[:9] for name in names] == ["20", "268435456", "0ax"]
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n")
    (tmp_path / "pids.events").write_text("max 0\n")
    assert not both.killed(tmp_path)
    assert not both.refused(tmp_path)
    (tmp_path / "memory.events").write_text("max 7\noom 1\noom_kill 1\n")
    (tmp_path / "pids.events").write_text("max 3\n")
    assert both.killed(tmp_path)
    assert both.refused(tmp_path)


def test_where_no_group_can_be_made_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text("")
    (tmp_path / "cgroup").write_text("")
    told = hierarchies(str(tmp_path / "mountinfo"), str(tmp_path / "cgroup"))
    assert told == "no cgroup for pids and memory can be made"
