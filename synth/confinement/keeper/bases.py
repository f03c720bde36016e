"""The folders that branches begin from, each shown read-only to the keeper, with the owner that the
branches' processes have.
"""

import os
import shutil
import subprocess
import weakref
from dataclasses import dataclass
from pathlib import Path

from synth.confinement.keeper.mounts import GUARDED, bind, mapped, mount, unmount
from synth.confinement.keeper.trees.walking import entries, folder
from synth.confinement.users import worker_of

_IDLE = 16
"""So many bases stay shown while no branch uses them: to look through one takes a while."""


@dataclass(frozen=True)
class FolderLook:
    """What a look through a folder found: who owns it (None: several), its latest time."""

    owner: tuple[int, int] | None
    latest: int
    size: int


def seen(base: str) -> FolderLook:
    """Looks through a folder."""
    with folder(base) as root:
        top = os.fstat(root)
        owners, latest, size = {(top.st_uid, top.st_gid)}, top.st_mtime_ns, 0
        for _, state in entries(root):
            owners.add((state.st_uid, state.st_gid))
            latest = max(latest, state.st_mtime_ns)
            size += state.st_size

    return FolderLook(owners.pop() if len(owners) == 1 else None, latest // 10**9, size)


def user_of(base: str, *, as_root: bool) -> int:
    """The user that works in branches of a folder: where we are root (and not only in a namespace
    of our own), one that nobody else is.
    """
    return worker_of(Path(base)) if as_root else os.geteuid()


class Base:
    """A folder, shown at `place`; `latest` is its latest time, in seconds. `root` is a descriptor
    of it for comparisons.
    """

    def __init__(self, folder: str, place: str, *, as_root: bool) -> None:
        found = seen(folder)
        self.place, self.latest = place, found.latest
        self.user = user_of(folder, as_root=as_root)
        Path(place).mkdir()
        self._show(folder, found)
        self.root = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        weakref.finalize(self, _hidden, place, self.root).atexit = False

    def _show(self, folder: str, found: FolderLook) -> None:
        """As it is, with another owner, or, where that cannot be, as a copy in memory."""
        if found.owner == (self.user, self.user):
            bind(folder, self.place)
            return

        if found.owner is not None:
            try:
                mapped(folder, self.place, found.owner, self.user)
            except OSError:
                pass  # an old kernel, a file system that cannot, or no right to
            else:
                return

        mount("synth", self.place, "tmpfs", GUARDED, f"size={found.size * 2 + (64 << 20)}")
        copied(folder, self.place)
        given(self.place, self.user)


class Bases:
    """The bases by what they are, the latest ones kept."""

    def __init__(self, *, as_root: bool) -> None:
        self._as_root, self._number = as_root, 0
        self._kept = dict[tuple[str, int, int], Base]()

    def base(self, folder: str) -> Base:
        """A folder's base, made where it is not there yet."""
        state = Path(folder).stat()
        key = (folder, state.st_dev, state.st_ino)
        found = self._kept.pop(key, None)
        if found is None:
            self._number += 1
            found = Base(folder, f"b{self._number}", as_root=self._as_root)

        self._kept[key] = found
        while len(self._kept) > _IDLE:
            self._kept.pop(next(iter(self._kept)))
        return found


def copied(source: str, target: str) -> None:
    """Copies all in a folder into another one. Raises `OSError`."""
    words = ["cp", "-a", "--reflink=auto", "--", f"{source}/.", target]
    done = subprocess.run(words, check=False, stderr=subprocess.PIPE)
    if done.returncode:
        raise OSError(done.returncode, done.stderr.decode("utf-8", "replace").strip()[:300])


def given(place: str, user: int) -> None:
    """Makes a folder and all in it the property of a user."""
    if user == os.geteuid():
        return

    with folder(place) as root:
        os.chown(place, user, user)
        for path, _ in entries(root):
            os.chown(path, user, user, dir_fd=root, follow_symlinks=False)


def _hidden(place: str, root: int) -> None:
    os.close(root)
    unmount(place)
    shutil.rmtree(place, ignore_errors=True)
