"""Opens what stands in a tree, by descriptors from its root and never through a link out of it."""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

STANDS_AT = "/repo"
"""Where processes see the tree: an absolute link that begins so stays inside."""
MOST_LINKS = 40
LONGEST = 4096
"""Bytes of a path, with the one that ends it, that the system takes."""
LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def folder(place: str, within: int | None = None) -> Iterator[int]:
    """A descriptor of a folder, while it is needed; it may be named from another one on."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(place, flags, dir_fd=within)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def opened(root: int, path: str, flags: int = LOOK, *, follow: bool = True) -> Iterator[int]:
    """A descriptor of what `path` names in the tree, while it is needed. Raises as `descriptor`
    does.
    """
    file = descriptor(root, path, flags, follow=follow)
    try:
        yield file
    finally:
        os.close(file)


def descriptor(root: int, path: str, flags: int = LOOK, *, follow: bool = True) -> int:
    """A descriptor of what `path` names in the tree; the caller closes it.

    With `follow`, links are followed as long as they stay inside. Raises `PermissionError` for
    what leads out, else `OSError` as the system does.
    """
    with ExitStack() as stack:
        way, todo, links = [os.dup(root)], deque(_parts(path)), 0
        stack.callback(_close, way)

        while todo:
            part = todo.popleft()
            if part == "..":
                _up(way, path)  # never by the system: that knows no root of ours
                continue

            if stat.S_ISLNK(os.stat(part, dir_fd=way[-1], follow_symlinks=False).st_mode):
                if follow:
                    links += 1
                    _follow(way, todo, part, path, links)
                    continue
                if todo:
                    raise NotADirectoryError(errno.ENOTDIR, "a link stands on the way", path)

            wanted = LOOK | os.O_DIRECTORY if todo else flags | os.O_NOFOLLOW | os.O_CLOEXEC
            way.append(os.open(part, wanted, dir_fd=way[-1]))

        return _last(way, flags)


@contextmanager
def parent(
    root: int, path: str, *, make: bool = False, follow: bool = True
) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder that holds `path`, while it is needed, and the name in it. With
    `make`, folders that are missing on the way are made.
    """
    *above, name = _parts(path) or [""]
    if name in ("", ".."):
        raise IsADirectoryError(errno.EISDIR, "names a folder", path)
    if ".." in above and not follow:
        raise PermissionError(errno.EPERM, "leads up", path)

    place = descriptor(root, ".", LOOK | os.O_DIRECTORY)
    try:
        for number, part in enumerate(above):
            if make and standing(place, part) is None:
                os.mkdir(part, 0o755, dir_fd=place)
                like(place, part, os.fstat(place))
            if follow:  # from the root again: a link may lead anywhere inside
                below = descriptor(root, "/".join(above[: number + 1]), LOOK | os.O_DIRECTORY)
            else:
                below = os.open(part, LOOK | os.O_DIRECTORY, dir_fd=place)
            os.close(place)
            place = below

        yield place, name
    finally:
        os.close(place)


def like(place: int, name: str, owner: os.stat_result) -> None:
    """Gives a new file the owner that others in its tree have, where it is not ours."""
    if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)


def standing(root: int, path: str) -> os.stat_result | None:
    """The state of what stands at a path, be it a link; None where nothing does."""
    try:
        return os.stat(path, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_folder(root: int, path: str) -> bool:
    """Whether a folder stands at a path, and no link to one."""
    found = standing(root, path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _parts(path: str) -> list[str]:
    """The names on the way. Raises `PermissionError` for an absolute path elsewhere."""
    if path.startswith("/"):
        if path != STANDS_AT and not path.startswith(STANDS_AT + "/"):
            raise PermissionError(errno.EPERM, "leads out of the tree", path)
        path = path[len(STANDS_AT) :]

    return [part for part in path.split("/") if part not in ("", ".")]


def _up(way: list[int], path: str) -> None:
    if len(way) == 1:
        raise PermissionError(errno.EPERM, "leads out of the tree", path)

    os.close(way.pop())


def _follow(way: list[int], todo: deque[str], link: str, path: str, links: int) -> None:
    """Puts what a link says before what is still to go."""
    if links > MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    target = os.readlink(link, dir_fd=way[-1])
    parts = _parts(target)
    if target.startswith("/"):
        _close(way[1:])
        del way[1:]

    todo.extendleft(reversed(parts))


def _last(way: list[int], flags: int) -> int:
    if len(way) > 1:
        return way.pop()

    return os.open(".", flags & ~os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=way[0])


def _close(descriptors: list[int]) -> None:
    for each in descriptors:
        os.close(each)


def entries(root: int | None, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """The path and state of all that stands in a tree, or in a folder of it; folders before what
    they hold. What lies deeper than a path can say is left out. Nothing else may change the tree.
    """
    todo = [below]
    while todo:
        above = todo.pop()
        with folder(above or ".", root) as place:
            names = sorted(os.listdir(place))  # noqa: PTH208 - a descriptor, no path
            seen = [(name, os.stat(name, dir_fd=place, follow_symlinks=False)) for name in names]

        for name, state in seen:
            path = f"{above}/{name}" if above else name
            if len(os.fsencode(path)) >= LONGEST:
                continue
            yield path, state
            if stat.S_ISDIR(state.st_mode):
                todo.append(path)
