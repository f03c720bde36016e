"""Errors of the file system in one line each: which path, what is wrong, what to do."""

import contextlib
import errno
import stat
from collections.abc import Iterator
from pathlib import Path

from synth.schemas import SynthError

_FULL = "the disk is full; free some space and run again: nothing that was committed is lost"
_NO_RIGHT = "{why}; give this user the right to read and write there, or name another folder"
_ADVICE = {
    errno.EFBIG: "the file-size limit of this process is reached; raise it (ulimit -f) and run "
    "again",
    # met where a file is only opened too, and where a lock writes the name of its owner
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _NO_RIGHT),
    errno.ENOENT: "cannot be used: {why}; no file can be made there: name a folder on a disk, "
    "such as runs/mine",
}
"""What to do, by the number of the error; `why` is what the system says."""
_UNKNOWN = "cannot be used: {why}; nothing that was committed is lost"


def access_error(path: str, error: OSError) -> SynthError:
    """One line for a file or folder that could not be read, written or locked."""
    match error:
        case FileExistsError() | NotADirectoryError():
            path = str(first_file(Path(path)) or path)
            advice = "is a file where a folder belongs; move it away and run again"
        case IsADirectoryError():
            advice = "is a folder where a file belongs; move it away and run again"
        case _:
            advice = _ADVICE.get(error.errno or 0, _UNKNOWN)
    return SynthError(f"{path}: {advice.format(why=error.strerror or error)}")


@contextlib.contextmanager
def accessing(path: Path, *, may_lack: bool = False) -> Iterator[None]:
    """Raises `SynthError` for what the system says of a file or folder of this machine; that there
    is none passes through where the caller expects it (`may_lack`).
    """
    try:
        yield
    except OSError as error:
        if may_lack and isinstance(error, FileNotFoundError):
            raise
        raise access_error(str(path), error) from error


def first_file(path: Path) -> Path | None:
    """The first part of a path that exists and is no folder; None where every part is one."""
    for part in [*reversed(path.parents), path]:
        try:
            mode = part.stat().st_mode
        except OSError:
            return None
        if not stat.S_ISDIR(mode):
            return part
    return None
