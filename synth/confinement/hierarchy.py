"""Where cgroups can be made on this machine, and the files of their two versions."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from synth.confinement.keeper.stale import mark

CONTROLLERS = ("pids", "memory")
SHARES = "cpu"
"""All processes of a group together get as much as one outside of it; version 2 sees to that where
a group has this controller, version 1 has groups of their own for it.
"""


@dataclass(frozen=True)
class Hierarchy:
    """A folder in which groups can be made, and which of our controllers they have."""

    parent: Path
    controllers: tuple[str, ...]
    version: Literal[1, 2]

    def limit(self, place: Path, memory: int, processes: int) -> None:
        """Sets the limits of a group. Raises `OSError`."""
        if "pids" in self.controllers:
            (place / "pids.max").write_text(str(processes), encoding="ascii")
        if "memory" not in self.controllers:
            return

        if self.version == 2:
            (place / "memory.max").write_text(str(memory), encoding="ascii")
            swap, most = place / "memory.swap.max", 0
        else:
            (place / "memory.limit_in_bytes").write_text(str(memory), encoding="ascii")
            swap, most = place / "memory.memsw.limit_in_bytes", memory
        with suppress(FileNotFoundError):  # a kernel that does not count it
            fd = os.open(swap, os.O_WRONLY)
            try:
                os.write(fd, str(most).encode())
            finally:
                os.close(fd)

    def killed(self, place: Path) -> bool:
        """Whether something in a group was ended for its memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return "memory" in self.controllers and _counted(place / name, "oom_kill") > 0

    def refused(self, place: Path) -> bool:
        """Whether something in a group could not be started, for there were too many."""
        return "pids" in self.controllers and _counted(place / "pids.events", "max") > 0


def hierarchies(
    mounts: str = "/proc/self/mountinfo", own: str = "/proc/self/cgroup"
) -> tuple[Hierarchy, ...] | str:
    """Where groups for processes and for memory can be made; or why they cannot, in a few words."""
    found = list[Hierarchy]()
    missing = list[str]()
    for name in CONTROLLERS:
        parent = next((one for one in _candidates(name, mounts, own) if _works(one)), None)
        if parent is None:
            missing.append(name)
        else:
            found.append(parent)

    if missing:
        return f"no cgroup for {' and '.join(missing)} can be made"

    if len({one.parent for one in found}) == 1:
        return (Hierarchy(found[0].parent, CONTROLLERS, found[0].version),)

    return (*found, *(one for one in _first_version(SHARES, mounts, own) if _works(one)))


def _first_version(controller: str, mounts: str, own: str) -> Iterator[Hierarchy]:
    """The folder in which a group of version 1 may be made."""
    ours = _own_groups(own)
    for root, point, kind, options in _mounted(mounts):
        if kind == "cgroup" and controller in options and controller in ours:
            yield Hierarchy(_below(point, root, ours[controller]), (controller,), 1)


def _candidates(controller: str, mounts: str, own: str) -> Iterator[Hierarchy]:
    """Folders in which a group may be made, the nearest to our own group first: in version 2 no
    group with processes has others with limits in it.
    """
    yield from _first_version(controller, mounts, own)
    ours = _own_groups(own)
    for root, point, kind, _ in _mounted(mounts):
        if kind == "cgroup2" and "" in ours:
            place = _below(point, root, ours[""])
            above = [one for one in (place, *place.parents) if one.is_relative_to(point)]
            for handed in (_hands_down, _can_hand_down):  # nothing is changed where it need not be
                yield from (Hierarchy(f, (controller,), 2) for f in above if handed(f, controller))


def _own_groups(own: str) -> dict[str, str]:
    """By controller (empty: version 2), the group that we are in."""
    lines = [line.split(":", 2) for line in _text(Path(own)).splitlines()]
    return {name: path for _, names, path in lines for name in names.split(",")}


def _mounted(mounts: str) -> Iterator[tuple[str, Path, str, list[str]]]:
    """(root, where, kind, options) of each mount."""
    for line in _text(Path(mounts)).splitlines():
        before, _, after = line.partition(" - ")
        words, more = before.split(), after.split()
        if len(words) > 4 and len(more) > 2:
            yield words[3], Path(words[4]), more[0], more[2].split(",")


def _below(point: Path, root: str, group: str) -> Path:
    """The folder of a group, where the mount shows it; else the mount."""
    inside = Path(group)
    inside = inside.relative_to(root) if inside.is_relative_to(root) else Path()
    place = point / str(inside).lstrip("/")
    return place if place.is_dir() else point


def _hands_down(folder: Path, controller: str) -> bool:
    """Whether groups in a folder have a controller."""
    return controller in _text(folder / "cgroup.subtree_control").split()


def _can_hand_down(folder: Path, controller: str) -> bool:
    """Whether groups in a folder could be given a controller; they are."""
    try:
        (folder / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
    except OSError:
        return False

    return _hands_down(folder, controller)


def _works(hierarchy: Hierarchy) -> bool:
    """Whether a group can be made, limited and entered."""
    place = hierarchy.parent / f"{mark()}trial-{hierarchy.controllers[0]}"
    try:
        place.mkdir()
    except OSError:
        return False

    try:
        hierarchy.limit(place, 64 << 20, 16)
        entered = ["/bin/sh", "-c", 'echo 0 >"$0"', str(place / "cgroup.procs")]
        return subprocess.run(entered, check=False, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False
    finally:
        with suppress(OSError):
            place.rmdir()


def _counted(file: Path, name: str) -> int:
    """A number that a file gives a name."""
    lines = [line.split() for line in _text(file).splitlines()]
    return next((int(line[1]) for line in lines if len(line) == 2 and line[0] == name), 0)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
