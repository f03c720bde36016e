"""What differs between two trees in files and links, and how a difference is laid over a third."""

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress

from synth.confinement.keeper.trees.files import content, create
from synth.confinement.keeper.trees.walking import entries, like, opened, parent

Change = tuple[bytes, int, str | None]
"""(content, mode, where a link leads)."""
MOST_BYTES = 64 << 20
"""Of all changes together: nothing that an agent writes may fill our own memory."""


def changes(base: int, now: int, paths: Iterable[str]) -> dict[str, Change | None]:
    """By path, what `now` has there that `base` has not; None where only `base` has a file.
    Folders are no files, nor are pipes and sockets. Raises `OSError` (EFBIG) for too much.
    """
    found, size = dict[str, Change | None](), 0

    for path in paths:
        before, after = state(base, path), state(now, path)
        if after == before:
            continue

        if after is not None:
            size += len(after[0])
            if size > MOST_BYTES:
                raise OSError(errno.EFBIG, f"the changes hold more than {MOST_BYTES >> 20} MB")

        found[path] = after

    return found


def state(root: int, path: str) -> Change | None:
    """What a tree has at a path, no link being followed; None for anything but a file or a
    link.
    """
    try:
        with opened(root, path, follow=False) as look:
            mode = os.fstat(look).st_mode
            if stat.S_ISLNK(mode):
                return b"", 0o777, os.readlink("", dir_fd=look)
    except (FileNotFoundError, NotADirectoryError):
        return None

    if not stat.S_ISREG(mode):
        return None

    with opened(root, path, os.O_RDONLY | os.O_NONBLOCK, follow=False) as file:
        data = content(file, MOST_BYTES + 1)

    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"holds more than {MOST_BYTES >> 20} MB", path)

    return data, stat.S_IMODE(mode), None


def every_path(*roots: int) -> list[str]:
    """The paths of all that is no folder, in any of the trees."""
    return sorted(
        {path for root in roots for path, state in entries(root) if not stat.S_ISDIR(state.st_mode)}
    )


def apply(root: int, changed: Mapping[str, Change | None]) -> None:
    """Lays changes over a tree: deletions first, with folders that they leave empty; what stands
    where a file comes gives way. No link is followed.
    """
    for path in sorted(changed, reverse=True):
        delete(root, path)

    for path, change in sorted(changed.items()):
        if change is not None:
            _lay(root, path, change)

    for path in sorted((path for path, one in changed.items() if one is None), reverse=True):
        _tidy(root, path)


def _lay(root: int, path: str, change: Change) -> None:
    data, mode, link = change
    if link is None:
        create(root, path, data, mode, follow=False)
        return

    with parent(root, path, make=True, follow=False) as (place, name):
        os.symlink(link, name, dir_fd=place)
        like(place, name, os.fstat(place))


def delete(root: int, path: str) -> None:
    """Takes away what stands at a path, folders with all in them; nothing where nothing is."""
    with (
        suppress(FileNotFoundError, NotADirectoryError),
        parent(root, path, follow=False) as (place, name),
    ):
        remove(place, name)


def remove(place: int | None, name: str) -> None:
    """Takes away a file, or a folder with all in it."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=place)
        return

    for path, state in reversed(list(entries(place, name))):
        if stat.S_ISDIR(state.st_mode):
            os.rmdir(path, dir_fd=place)
        else:
            os.unlink(path, dir_fd=place)

    os.rmdir(name, dir_fd=place)


def _tidy(root: int, path: str) -> None:
    """Takes away the folders above a deleted file that hold nothing any more."""
    while "/" in path:
        path = path.rpartition("/")[0]
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            parent(root, path, follow=False) as (place, name),
        ):
            try:
                os.rmdir(name, dir_fd=place)
            except OSError:
                return
