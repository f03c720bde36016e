"""Folders -> files; nothing that is found is passed over in silence."""

import os
from collections.abc import Iterator
from pathlib import Path

from synth.importers.records import Rejection, one_line
from synth.importers.synth_run import is_run
from synth.schemas.printable import printable


def files(source: Path) -> Iterator[tuple[Path, str] | Rejection]:
    """(path, name) of a file, or of all files below a folder in sorted order; the name is relative
    to the folder.

    Links to folders are followed, once: one that leads to a folder already seen is a rejection. A
    folder that is a run of synth comes whole, and is not looked into.
    """
    if not source.is_dir() or is_run(source):
        yield source, printable(source.resolve().name)
        return
    failed: list[OSError] = []
    seen: set[tuple[int, int]] = set()
    for folder, folders, names in os.walk(source, onerror=failed.append, followlinks=True):
        seen.add(_identity(folder))
        fresh: list[str] = []
        for name in sorted(folders, key=lambda name: (Path(folder, name).is_symlink(), name)):
            identity = _identity(Path(folder, name))
            if identity in seen:
                yield Rejection(
                    _name(Path(folder, name), source),
                    "folder",
                    "folder_again",
                    "a link to a folder that is read elsewhere",
                )
            elif is_run(Path(folder, name)):
                seen.add(identity)
                yield Path(folder, name), _name(Path(folder, name), source)
            else:
                seen.add(identity)
                fresh.append(name)
        folders[:] = sorted(fresh)
        for name in sorted(names):
            path = Path(folder, name)
            yield path, _name(path, source)
    for error in failed:
        name = os.path.relpath(error.filename, source) if error.filename else source.name
        yield Rejection(
            printable(name), "folder", "unreadable", one_line(error.strerror or str(error))
        )


def _identity(folder: str | Path) -> tuple[int, int]:
    """Device and inode; a folder that cannot be asked is like no other (walking it says why)."""
    try:
        state = Path(folder).stat()
    except OSError:
        return (-1, hash(str(folder)))
    return state.st_dev, state.st_ino


def _name(path: Path, source: Path) -> str:
    return printable(path.relative_to(source).as_posix())
