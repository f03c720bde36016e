"""Cgroups: how many processes a confined tree has, and how much memory all of them hold together.

Each tree has a group of its own below ours (version 1: for processes, for memory and for computing
time apart; version 2: one), made before it begins and removed when it has ended.
"""

import asyncio
import atexit
import itertools
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from synth.confinement.command import ProcessLimits
from synth.confinement.hierarchy import Hierarchy, hierarchies
from synth.confinement.keeper.stale import kill_members, mark, members, sweep

_NUMBERS = itertools.count()
_OURS = 4
"""Processes of bubblewrap and of those who start it, which count too."""
_LEAVE_S = 5.0
Met = Literal["memory", "processes"]


class Cgroup:
    """The group of one confined tree. `entrances` are the files that its first process writes
    to.
    """

    def __init__(self, limits: ProcessLimits) -> None:
        name = f"{mark()}{next(_NUMBERS)}"
        self._made = list[tuple[Hierarchy, Path]]()
        try:
            for hierarchy in _usable():
                place = hierarchy.parent / name
                place.mkdir()
                self._made.append((hierarchy, place))
                hierarchy.limit(place, limits.memory_mb << 20, limits.processes + _OURS)
        except OSError:
            self.gone()
            raise

    @property
    def entrances(self) -> Sequence[Path]:
        """Who writes "0" to them is inside."""
        return [place / "cgroup.procs" for _, place in self._made]

    @property
    def processes(self) -> list[int]:
        """What is inside now."""
        return members(self._made[0][1]) if self._made else []

    @property
    def met(self) -> Met | None:
        """The limit that the tree ran into, if it did: something was ended for memory, or could not
        be started.
        """
        if any(hierarchy.killed(place) for hierarchy, place in self._made):
            return "memory"

        return "processes" if any(h.refused(place) for h, place in self._made) else None

    def kill(self) -> None:
        """Ends all that is inside."""
        for _, place in self._made[:1]:
            kill_members(place)

    def gone(self) -> bool:
        """Removes the group, if nothing is inside any more; whether it is removed."""
        while self._made:
            try:
                self._made[-1][1].rmdir()
            except FileNotFoundError:
                self._made.pop()
            except OSError:
                return False
            else:
                self._made.pop()

        _LEFT.discard(self)
        return True

    def leave(self) -> None:
        """Ends what is inside without waiting for it: the group is removed before the next one is
        made, or when we end.
        """
        _LEFT.add(self)
        self.kill()

    async def close(self) -> None:
        """Ends what is left inside, and removes the group. Where the kernel takes longer to end it
        than anybody should wait, or who waits is cancelled, the group is left.
        """
        _LEFT.add(self)
        until = time.monotonic() + _LEAVE_S
        while not self.gone() and time.monotonic() < until:
            self.kill()
            await asyncio.sleep(0.002)


_LEFT = set[Cgroup]()
"""Given up, and not removed yet."""


@atexit.register
def _bury() -> None:
    for left in tuple(_LEFT):
        if not left.gone():
            left.kill()


def new_cgroup(limits: ProcessLimits) -> Cgroup | None:
    """A group for one tree, which its user closes; None where there are none."""
    _bury()
    return None if no_cgroups() else Cgroup(limits)


@cache
def _usable() -> tuple[Hierarchy, ...]:
    found = hierarchies()
    if isinstance(found, str):
        return ()
    for hierarchy in found:
        sweep(hierarchy.parent)

    return found


def cgroup_folders() -> list[str]:
    """The folders in which groups are made."""
    return [str(hierarchy.parent) for hierarchy in _usable()]


def how_trees_are_counted() -> str:
    """How processes and memory of a confined tree are limited on this machine, in a line."""
    found = hierarchies()
    if isinstance(found, str):
        return f"prlimit for each process and a look twice a second ({found})"

    return f"cgroups, version {found[0].version}"


def no_cgroups() -> bool:
    """Whether trees are limited without cgroups."""
    return not _usable()
