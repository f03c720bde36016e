"""Single files of a tree: read, written, listed."""

import errno
import os
import stat

from synth.confinement.keeper.trees.walking import LOOK, folder, like, opened, parent

_CHUNK = 1 << 20


def read(root: int, path: str, limit: int) -> bytes:
    """The first `limit` bytes of a regular file. Raises `OSError` for all else."""
    with opened(root, path, os.O_RDONLY | os.O_NONBLOCK) as file:
        _regular(file, path)
        return content(file, limit)


def write(root: int, path: str, data: bytes) -> None:
    """A file's content anew; it and the folders above it are made where they are missing."""
    try:
        with opened(root, path, os.O_WRONLY | os.O_NONBLOCK) as file:
            _regular(file, path)
            os.ftruncate(file, 0)
            put(file, data)
    except FileNotFoundError:
        create(root, path, data, 0o644)


def create(root: int, path: str, data: bytes, mode: int, *, follow: bool = True) -> None:
    """A new file. Raises `FileExistsError` where something bears its name, be it a link."""
    with parent(root, path, make=True, follow=follow) as (place, name):
        file = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place
        )
        try:
            like(place, name, os.fstat(place))
            put(file, data)
            os.fchmod(file, mode)
        finally:
            os.close(file)


def listed(root: int, path: str) -> list[str]:
    """The names in a folder, in order; those of folders end in a slash."""
    with (
        opened(root, path, LOOK | os.O_DIRECTORY) as look,
        folder(".", look) as place,
        os.scandir(place) as found,
    ):
        return sorted(
            f"{one.name}/" if one.is_dir(follow_symlinks=False) else one.name for one in found
        )


def content(file: int, limit: int) -> bytes:
    """At most `limit` bytes of an open file."""
    parts, left = list[bytes](), limit
    while left > 0 and (part := os.read(file, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)

    return b"".join(parts)


def put(file: int, data: bytes) -> None:
    """Writes all of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _regular(file: int, path: str) -> None:
    mode = os.fstat(file).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)

    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is no regular file", path)
