"""Takes a repository's files: out of an archive or a folder that may mean harm.

What is written are new files of fixed modes, below one folder; links, devices and paths that lead
out are refused, and so is what is larger than a repository has reason to be.
"""

import os
import re
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from synth.envs.repo.making.layout import left_behind, matches
from synth.schemas import ConfigError

MOST_FILES, MOST_BYTES, LONGEST_PATH = 20_000, 512 << 20, 400
_PIECE = 1 << 20
STAMP_S = 1_000_000_000
"""2001-09-09 01:46:40, a second before that of what is changed later."""
_UNWRITTEN = re.compile(r"[\x00-\x1f\x7f\\]")
File = tuple[str, IO[bytes], bool]
"""Relative path, content, whether it can be executed."""


def unpack(archive: Path, folder: Path) -> None:
    """A source distribution, without the one folder that all of it stands in. Raises
    `ConfigError`.
    """
    try:
        with tarfile.open(archive, "r:gz") as opened:
            _write(_members(opened, archive), folder, archive)
    except (tarfile.TarError, zlib.error, EOFError, UnicodeError, OSError) as error:
        raise ConfigError(f"{archive}: cannot be unpacked: {error}") from None


def take(source: Path, folder: Path, leave_out: Sequence[str] = ()) -> None:
    """A user's folder; caches, virtual environments and version control stay behind. Raises
    `ConfigError`.
    """
    if not source.is_dir():
        raise ConfigError(f"{source}: is no folder")
    try:
        _write(_walked(source, [*left_behind(), *leave_out]), folder, source)
    except OSError as error:
        raise ConfigError(f"{error.filename or source}: {error.strerror or error}") from None


def _members(opened: tarfile.TarFile, archive: Path) -> Iterator[File]:
    """The files of an archive, as they come."""
    for member in opened:
        if member.isdir():
            continue
        if not member.isreg() or member.issparse():
            what = "a link" if member.issym() or member.islnk() else "no plain file"
            raise ConfigError(f"{archive}: {member.name!r} is {what}, and not taken")
        top, _, path = member.name.partition("/")
        if top in ("", ".", "..") or not path:
            raise ConfigError(f"{archive}: {member.name!r} stands in no folder of its own")
        content = opened.extractfile(member)
        if content is not None:
            yield path, content, bool(member.mode & 0o100)


def _walked(source: Path, apart: Sequence[str]) -> Iterator[File]:
    """The files of a folder; no link is followed."""
    for place, folders, names in os.walk(source):
        inside = Path(place).relative_to(source)
        kept = [name for name in folders if not matches(f"{(inside / name).as_posix()}/x", apart)]
        folders[:] = sorted(kept)
        for name in sorted([*names, *kept]):
            path = (inside / name).as_posix()
            if matches(path, apart):
                continue
            mode = Path(place, name).lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                what = "a link" if stat.S_ISLNK(mode) else "no plain file"
                raise ConfigError(f"{Path(place, name)}: is {what}; --leave-out {path!r}")
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with open(os.open(Path(place, name), flags), "rb") as content:  # noqa: PTH123
                yield path, content, bool(mode & 0o100)


def _write(files: Iterable[File], folder: Path, source: Path) -> None:
    """Writes files below a new folder, which is there once it is whole."""
    new = folder.with_name(f"{folder.name}.{os.getpid()}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        count, left = 0, MOST_BYTES
        for path, content, runs in files:
            count += 1
            place = new / _safe(path, source)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:  # a second file of the same name is refused
                while piece := content.read(_PIECE):
                    left -= len(piece)
                    if left < 0 or count > MOST_FILES:
                        raise ConfigError(
                            f"{source}: holds more than {MOST_FILES:,} files or "
                            f"{MOST_BYTES >> 20} MiB; take less of it"
                        )
                    file.write(piece)
            place.chmod(0o755 if runs else 0o644)
        if not count:
            raise ConfigError(f"{source}: holds no file")
        _stamp(new)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _stamp(folder: Path) -> None:
    """One time for all files and folders: what an agent sees of them is the same in every pool."""
    for place, _, names in os.walk(folder, topdown=False):
        for path in (*(Path(place, name) for name in names), Path(place)):
            os.utime(path, (STAMP_S, STAMP_S))


def _safe(path: str, source: Path) -> PurePosixPath:
    """A path that stays below where it begins. Raises `ConfigError`."""
    found = PurePosixPath(path)
    odd = found.is_absolute() or ".." in found.parts or len(path) > LONGEST_PATH
    if odd or _UNWRITTEN.search(path):
        raise ConfigError(f"{source}: {path[:80]!r} is no path to write to")
    return found
