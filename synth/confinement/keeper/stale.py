"""The names of what a process makes outside of itself, and what of it is left by dead ones."""

import os
import shutil
import signal
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

PREFIX = "synth-"
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
    """When a process began, in ticks of the system; 0 for one that is no more."""
    try:
        line = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return 0

    return int(line.rpartition(b")")[2].split()[19])


def dead(name: str, made_at: float) -> bool:
    """Whether who made what bears such a name has ended."""
    words = name.removeprefix(PREFIX).split("-")
    if not name.startswith(PREFIX) or len(words) < 3 or not all(w.isdigit() for w in words[:3]):
        return False

    container, process, began = (int(word) for word in words[:3])
    if container != _container():
        return time.time() - made_at > _LONG_AGO_S

    return _began(process) != began or began == 0


def sweep(folder: Path, *, groups: bool = True) -> None:
    """Removes what dead processes left in a folder: cgroups, or trees of files."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.startswith(PREFIX)]
    except OSError:
        return

    for name in names:
        place = folder / name
        with suppress(OSError):
            if not dead(name, place.stat().st_mtime):
                continue
            if groups:
                _empty(place)
                place.rmdir()
            elif place.stat().st_uid == os.geteuid():
                shutil.rmtree(place)


def _empty(group: Path) -> None:
    """Ends what a dead process left running, and waits a moment for it."""
    for _ in range(100):
        inside = (group / "cgroup.procs").read_text("ascii").split()
        if not inside:
            return
        for process in inside:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        time.sleep(0.005)
