"""The names of what a process makes outside of itself, and what of it is left by dead ones."""

import os
import signal
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from synth.confinement.keeper.trees.removing import remove_tree

PREFIX = "synth-"
_EXITING = 4
"""PF_EXITING among the flags of a task."""
_LONG_AGO_S = 3600.0
"""What a process of another container made is left alone for so long: whether that lives cannot be
seen from here.
"""


def mark(process: int | None = None) -> str:
    """How all names begin that a process makes: nobody else, and no later one, makes the like."""
    number = process or os.getpid()
    return f"{PREFIX}{_container()}-{number}-{_began(number)}-"


@cache
def _container() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _began(process: int) -> int:
    """When a process began, in ticks of the system; 0 for one that has ended, or is about to: its
    sockets close a moment before that.
    """
    try:
        line = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return 0

    words = line.rpartition(b")")[2].split()
    return 0 if words[0] in b"ZX" or int(words[6]) & _EXITING else int(words[19])


def dead(name: str, made_at: float) -> bool:
    """Whether who made what bears such a name has ended."""
    words = name.removeprefix(PREFIX).split("-")
    if not name.startswith(PREFIX) or len(words) < 3 or not all(w.isdigit() for w in words[:3]):
        return False

    container, process, began = (int(word) for word in words[:3])
    if container != _container():
        return time.time() - made_at > _LONG_AGO_S

    return _began(process) != began or began == 0


def sweep(folder: Path, *, groups: bool = True) -> int:
    """Removes what dead processes left in a folder: cgroups, or trees of files; how many could not
    be removed yet.
    """
    left = 0
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.startswith(PREFIX)]
    except OSError:
        return 0

    for name in names:
        place = folder / name
        with suppress(FileNotFoundError):
            if dead(name, place.stat().st_mtime):
                left += not (_group_gone(place) if groups else _tree_gone(place))

    return left


def _tree_gone(place: Path) -> bool:
    if place.stat().st_uid == os.geteuid():
        remove_tree(str(place))

    return True


def members(group: Path) -> list[int]:
    """The processes in a cgroup, but for those that cannot be seen from here (0)."""
    try:
        found = map(int, (group / "cgroup.procs").read_text("ascii").split())
        return [process for process in found if process > 0]
    except OSError:
        return []


def kill_members(group: Path) -> None:
    """Ends all that is in a cgroup."""
    for process in members(group):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _group_gone(place: Path) -> bool:
    """Ends what is left inside a group, and removes it where nobody waits to be buried. Others may
    do the same at the same time.
    """
    for _ in range(20):
        kill_members(place)
        with suppress(OSError):
            place.rmdir()
        if not place.exists():
            return True
        time.sleep(0.005)

    return False
