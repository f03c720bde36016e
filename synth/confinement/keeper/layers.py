"""Layers of an overlay file system: folders of differences, each on the disk of one branch."""

import os
import threading
import weakref
from pathlib import Path

from synth.confinement.keeper.mounts import GUARDED, REMOUNT, mount, unmount
from synth.confinement.keeper.trees.removing import remove_tree

MOST_LAYERS = 60
"""Of one branch; the options of a mount are limited to a page, and each layer costs time."""
_BEGUN, _BEGUN_FILES = 64 << 10, 16
"""Bytes and files that an empty layer takes, at the most."""


class Disk:
    """A file system in memory, of limited size, that one branch writes to. It goes when its branch
    is closed and none of its layers is needed any more.
    """

    def __init__(self, place: str, size: int) -> None:
        self.place, self.size = place, size
        self._layers, self._number = set[str](), 0
        self._lock, self._closed = threading.Lock(), False
        Path(place).mkdir()
        mount("synth", place, "tmpfs", GUARDED, f"size={size},nr_inodes={_inodes(size)},mode=755")

    def layer(self, like: "os.stat_result") -> "BranchLayer":
        """A new layer, empty, whose root looks `like` another one."""
        with self._lock:
            self._number += 1
            name = f"{self.place}/{self._number}"
            self._layers.add(name)

        layer = BranchLayer(name, self)
        for part in (name, layer.upper, layer.work):
            Path(part).mkdir()
        os.chown(layer.upper, like.st_uid, like.st_gid)
        Path(layer.upper).chmod(like.st_mode & 0o7777)
        os.utime(layer.upper, ns=(like.st_mtime_ns, like.st_mtime_ns))
        return layer

    @property
    def used(self) -> int:
        """Bytes in all layers."""
        seen = os.statvfs(self.place)
        return (seen.f_blocks - seen.f_bfree) * seen.f_frsize

    @property
    def full(self) -> bool:
        """Whether there is no room for another page, or another file."""
        seen = os.statvfs(self.place)
        return seen.f_bavail == 0 or seen.f_ffree == 0

    def make_room(self, most: int) -> None:
        """As much room for the next layer as the first one had, up to `most` bytes for all, and
        always enough to begin one: for its bytes, and for the number of its files.
        """
        seen = os.statvfs(self.place)
        files = seen.f_files - seen.f_ffree
        size = min(self.used + self.size, max(most, self.size))
        count = min(files + _inodes(self.size), _inodes(max(most, self.size)))
        size, count = max(size, self.used + _BEGUN), max(count, files + _BEGUN_FILES)
        mount("synth", self.place, "tmpfs", REMOUNT | GUARDED, f"size={size},nr_inodes={count}")

    def close(self) -> None:
        """Nobody writes to it any more."""
        with self._lock:
            self._closed = True
            gone = not self._layers
        if gone:
            self._end()

    def forget(self, name: str) -> None:
        """A layer is needed no more."""
        with self._lock:
            self._layers.discard(name)
            closed, last = self._closed, not self._layers
        if closed and last:
            self._end()
        elif not closed:
            remove_tree(name)

    def _end(self) -> None:
        unmount(self.place)
        Path(self.place).rmdir()


class BranchLayer:
    """What one command of a branch wrote, `held` bytes. Once another layer lies on it, nobody
    writes to it.
    """

    def __init__(self, name: str, disk: Disk) -> None:
        self.name, self.disk, self.held = name, disk, 0
        weakref.finalize(self, disk.forget, name).atexit = False

    @property
    def upper(self) -> str:
        """Where its differences are."""
        return f"{self.name}/u"

    @property
    def work(self) -> str:
        """The folder that the file system needs beside it."""
        return f"{self.name}/w"


def _inodes(size: int) -> int:
    """How many files a disk may hold: as many as pages, at least a few thousand."""
    return max(4096, size >> 12)
