"""Branches by copies: where no overlay file system can be had."""

import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path

from synth.confinement.keeper.bases import copied, given, seen, user_of
from synth.confinement.keeper.trees.differences import every_path
from synth.confinement.keeper.trees.removing import remove_tree
from synth.confinement.keeper.trees.times import Clock
from synth.confinement.keeper.trees.walking import entries, folder


@dataclass(frozen=True)
class CopiedBase:
    """A folder as it is; `root` is a descriptor of it."""

    folder: str
    root: int
    latest: int
    user: int


class CopiedPoint:
    """A copy that nobody writes to."""

    def __init__(self, place: str, tick: int) -> None:
        self.place, self.tick = place, tick
        weakref.finalize(self, remove_tree, place).atexit = False


class CopiedBranch:
    """A branch whose tree is a copy of the folder, in `home`."""

    def __init__(self, base: str, home: str, size: int, *, as_root: bool) -> None:
        found = seen(base)
        self._home = tempfile.mkdtemp(dir=home)
        Path(self._home).chmod(0o711)
        self.place, self._points, self._size = f"{self._home}/tree", 0, size
        self.user = user_of(base, as_root=as_root)
        root = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
        self.base = CopiedBase(base, root, found.latest, self.user)
        _copy(base, self.place)
        given(self.place, self.user)
        self._held = found.size
        mark = Path(self._home, "mark")
        mark.touch()
        self.clock = Clock(mark.stat().st_mtime_ns, found.latest)

    def freeze(self) -> CopiedPoint:
        """A copy of the tree."""
        self._points += 1
        place = f"{self._home}-{self._points}"
        _copy(self.place, place)
        return CopiedPoint(place, self.clock.tick)

    def thaw(self, point: CopiedPoint) -> None:
        """A copy of the copy."""
        self.clock.tick = point.tick
        remove_tree(self.place)
        _copy(point.place, self.place)

    def settle(self) -> None:
        """After whatever may have written: the times of what it wrote."""
        with folder(self.place) as root:
            found = list(entries(root))
            self.clock.settle(root, found)

        self._held = sum(state.st_blocks * 512 for _, state in found)

    def differing(self) -> list[str]:
        """All paths."""
        with folder(self.place) as root:
            return every_path(self.base.root, root)

    @property
    def full(self) -> bool:
        """Whether the tree was larger than it may be when it was last looked through."""
        return self._held > self._size

    def close(self) -> None:
        """Takes away the copy."""
        os.close(self.base.root)
        remove_tree(self._home)


def _copy(source: str, target: str) -> None:
    Path(target).mkdir()
    copied(source, target)
