"""What the processes of a confined world hold together: memory, and files that no folder shows any
more.
"""

import os
import stat
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.5
_SEEN: list[tuple[float, dict[int, list[int]]]] = []


@dataclass(frozen=True)
class HeldProcess:
    """Bytes of writable memory, shared memory counted where it is mapped; bytes of files that are
    deleted and still open.
    """

    memory: int
    deleted: int


def tree(process: int) -> list[int]:
    """A process and all its descendants, as they are now; alone where the system does not tell
    (only Linux does).
    """
    _SEEN.clear()
    return _tree(process)


def held(process: int) -> HeldProcess:
    """What a process and all its descendants hold together."""
    inside = _tree(process)
    return HeldProcess(sum(_memory(each) for each in inside), deleted(inside))


def deleted(processes: Iterable[int]) -> int:
    """Bytes of files that are in no folder any more and that processes hold open."""
    found = dict[tuple[int, int], int]()
    for each in processes:
        found.update(_deleted(each))

    return sum(found.values())


def _tree(process: int) -> list[int]:
    """A process and its descendants, as far as they were seen lately."""
    children = _children()
    found, todo = list[int](), [process]

    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], ())

    return found


def _children() -> dict[int, list[int]]:
    """The processes of this machine by their parents, looked at once for all worlds that ask at
    about the same time.
    """
    now = time.monotonic()
    if not Path("/proc/self/stat").exists():
        return {}

    if not _SEEN or now - _SEEN[0][0] > LOOK_S / 2:
        found: defaultdict[int, list[int]] = defaultdict(list)
        # pathlib interns every name, and they are never the same
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit() and (line := _read(f"/proc/{name}/stat")):
                found[int(line.rpartition(b")")[2].split()[1])].append(int(name))

        _SEEN[:] = [(now, dict(found))]

    return _SEEN[0][1]


def _memory(process: int) -> int:
    """Bytes of memory that a process alone has written."""
    wanted = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
    lines = [line.split() for line in _read(f"/proc/{process}/status").splitlines()]
    return sum(int(line[1]) << 10 for line in lines if line and line[0] in wanted)


def _deleted(process: int) -> dict[tuple[int, int], int]:
    """(device, file) -> bytes of files that are open and in no folder any more."""
    found = dict[tuple[int, int], int]()
    try:
        for name in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208
            seen = os.stat(f"/proc/{process}/fd/{name}")  # noqa: PTH116
            if seen.st_nlink == 0 and stat.S_ISREG(seen.st_mode):
                found[seen.st_dev, seen.st_ino] = seen.st_blocks * 512
    except OSError:  # it has ended, or closed the file, while it was looked at
        return found

    return found


def _read(path: str) -> bytes:
    """What a file of /proc says; nothing once its process has ended."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
