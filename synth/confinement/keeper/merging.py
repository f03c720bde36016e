"""Several layers made into one: what the file system would show, written down."""

import os
import shutil
import stat
from contextlib import suppress

from synth.confinement.keeper.trees.differences import remove
from synth.confinement.keeper.trees.walking import entries, folder, is_folder, standing

OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")
_WHITEOUT = os.makedev(0, 0)
Place = dict[int, str]


def is_whiteout(state: os.stat_result) -> bool:
    """Whether an entry of a layer says that there is nothing."""
    return stat.S_ISCHR(state.st_mode) and state.st_rdev == _WHITEOUT


def is_opaque(layer: int, path: str) -> bool:
    """Whether a folder of a layer hides what lower layers have there."""
    with folder(path or ".", layer) as place:
        return any(name in os.listxattr(place) for name in OPAQUE)


def merge(layer: int, into: int, base: int | None, opaque: str) -> None:
    """Lays one layer over another, which is on `base` (None: on it and on other layers, of which
    anything may be hidden); `opaque` is the attribute to be used. Hard links stay such.
    """
    linked = Place()
    for path, state in entries(layer):
        if is_whiteout(state):
            _gone(into, path)
            if base is None or _shines_through(into, base, path):
                os.mknod(path, stat.S_IFCHR, _WHITEOUT, dir_fd=into)
        elif stat.S_ISDIR(state.st_mode):
            _folder(layer, into, path, opaque)
        elif state.st_nlink > 1 and state.st_ino in linked:
            _gone(into, path)
            os.link(
                linked[state.st_ino], path, src_dir_fd=into, dst_dir_fd=into, follow_symlinks=False
            )
        else:
            linked[state.st_ino] = path
            _gone(into, path)
            _copy(layer, into, path, state)

    for path, state in entries(layer):
        if not is_whiteout(state):
            _dressed(into, path, state)


def _gone(into: int, path: str) -> None:
    with suppress(FileNotFoundError):
        remove(into, path)


def _folder(layer: int, into: int, path: str, opaque: str) -> None:
    """A folder that goes on with what is below it, unless it hides that, or a file was there."""
    hides = is_opaque(layer, path)
    was = standing(into, path)
    if was is not None and stat.S_ISDIR(was.st_mode) and not hides:
        return

    if was is not None:
        remove(into, path)
    os.mkdir(path, dir_fd=into)
    if hides or was is not None:
        with folder(path, into) as place:
            os.setxattr(place, opaque, b"y")


def _shines_through(into: int, base: int, path: str) -> bool:
    """Whether the base has something at a path that no folder above it hides."""
    above = path
    while "/" in above:
        above = above.rpartition("/")[0]
        if is_opaque(into, above) or not is_folder(base, above):
            return False

    return standing(base, path) is not None


def _copy(layer: int, into: int, path: str, state: os.stat_result) -> None:
    if stat.S_ISLNK(state.st_mode):
        os.symlink(os.readlink(path, dir_fd=layer), path, dir_fd=into)
    elif stat.S_ISREG(state.st_mode):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with (
            os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=layer), "rb") as source,
            os.fdopen(os.open(path, flags, 0o600, dir_fd=into), "wb") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
    else:  # pipes and sockets
        os.mknod(path, stat.S_IFMT(state.st_mode) | 0o600, state.st_rdev, dir_fd=into)


def _dressed(into: int, path: str, state: os.stat_result) -> None:
    """The owner, mode and time of an entry, once nothing is put into it any more."""
    os.chown(path, state.st_uid, state.st_gid, dir_fd=into, follow_symlinks=False)
    if not stat.S_ISLNK(state.st_mode):
        os.chmod(path, state.st_mode & 0o7777, dir_fd=into)
    times = (state.st_atime_ns, state.st_mtime_ns)
    os.utime(path, ns=times, dir_fd=into, follow_symlinks=False)
