"""What lies in a folder in which others are at work: links, pipes and odd names may appear while it
is read.

Everything is opened by descriptor, one folder below the other, and no link is followed.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_FILES = 5000
DEEPEST = 40
"""Folders in one another."""
BLOCK = 4096
"""Bytes that anything takes on a disk, were it empty."""
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


class TooLargeError(Exception):
    """A folder holds more than a world may."""


@dataclass(frozen=True)
class Entry:
    """Something in a folder: its path in it, what it was when it was seen, and where it stands (a
    name in an open folder).
    """

    path: str
    seen: os.stat_result
    name: str
    place: int

    @property
    def kind(self) -> str:
        """file, folder, link, pipe, socket or other."""
        return _KINDS.get(stat.S_IFMT(self.seen.st_mode), "other")

    def content(self) -> bytes:
        """A file's bytes. Raises `OSError` where it is gone, or is no file any more."""
        with os.fdopen(self.opened(stat.S_IFREG), "rb") as file:
            return file.read()

    def target(self) -> str:
        """Where a link leads."""
        return os.readlink(self.name, dir_fd=self.place)

    def opened(self, kind: int) -> int:
        """A descriptor to read by, also of what its user, who is ours where we are not root, has
        closed to itself.
        """

        held = os.open(self.name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.place)
        try:
            mode = os.fstat(held).st_mode
            if stat.S_IFMT(mode) != kind:
                raise OSError(f"{self.path} is something else by now")
            itself, needed = Path(f"/proc/self/fd/{held}"), 0o500 if kind == stat.S_IFDIR else 0o400
            if mode & needed == needed or os.geteuid() == 0:
                return os.open(itself, os.O_RDONLY)
            itself.chmod(stat.S_IMODE(mode) | needed)
            try:
                return os.open(itself, os.O_RDONLY)
            finally:
                if kind == stat.S_IFREG:
                    itself.chmod(stat.S_IMODE(mode))
        finally:
            os.close(held)


def entries(folder: Path) -> Iterator[Entry]:
    """All that a folder holds, folders before what is in them. Raises `TooLargeError` beyond
    `MOST_FILES` or `DEEPEST`.
    """
    for at, entry in enumerate(_below(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), "", 0)):
        if at >= MOST_FILES:
            raise TooLargeError(f"the world's folder holds more than {MOST_FILES} files")
        yield entry


def _below(place: int, prefix: str, depth: int) -> Iterator[Entry]:
    """Closes `place` at its end."""

    try:
        if depth > DEEPEST:
            raise TooLargeError(f"folders lie more than {DEEPEST} deep in the world's folder")
        for name in sorted(os.listdir(place)):
            try:
                entry = Entry(
                    f"{prefix}{name}",
                    os.stat(name, dir_fd=place, follow_symlinks=False),
                    name,
                    place,
                )
            except FileNotFoundError:  # gone since the folder was listed
                continue

            yield entry
            if entry.kind == "folder":
                yield from _below(entry.opened(stat.S_IFDIR), f"{entry.path}/", depth + 1)
    finally:
        os.close(place)


def weight(folder: Path) -> int:
    """Bytes that a folder takes, at least a block for everything in it. Raises `TooLargeError` as
    `entries` does.
    """
    return sum(
        max(entry.seen.st_size if entry.kind == "file" else 0, BLOCK) for entry in entries(folder)
    )


def emptied(folder: Path) -> None:
    """Leaves the folder itself, with nothing in it, however deep it was and whatever was denied in
    it.
    """

    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        moved = 0
        while names := os.listdir(top):  # noqa: PTH208 - an open folder has no path
            for name in names:
                try:
                    os.unlink(name, dir_fd=top)
                except (IsADirectoryError, PermissionError):
                    moved = _levelled(top, name, moved)
    finally:
        os.close(top)


def _levelled(top: int, name: str, moved: int) -> int:
    """Takes one folder away: the folders in it come to the top, so that no depth needs as many
    descriptors.
    """

    with suppress(OSError):
        os.rmdir(name, dir_fd=top)
        return moved

    inner = Entry(name, os.stat(name, dir_fd=top, follow_symlinks=False), name, top).opened(
        stat.S_IFDIR
    )
    try:
        os.fchmod(inner, 0o700)
        for child in os.listdir(inner):  # noqa: PTH208
            try:
                os.unlink(child, dir_fd=inner)
            except (IsADirectoryError, PermissionError):
                moved += 1
                os.rename(
                    child,
                    f"synth-emptied-{moved}-{os.urandom(4).hex()}",
                    src_dir_fd=inner,
                    dst_dir_fd=top,
                )
    finally:
        os.close(inner)

    os.rmdir(name, dir_fd=top)

    return moved
