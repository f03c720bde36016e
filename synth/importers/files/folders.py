"""Folders -> files; nothing that is found is passed over in silence."""

import os
from collections.abc import Iterator
from pathlib import Path

from synth.importers.files.pieces import are_pieces, is_copy
from synth.importers.interchange.synth_run import is_run
from synth.importers.records import Rejection, one_line
from synth.schemas import printable


def files(source: Path) -> Iterator[tuple[Path, str] | Rejection]:
    """(path, name) of a file, or of all files below a folder in sorted order; the name is relative
    to the folder, and fit to be shown.

    Links to folders are followed, once: one that leads to a folder already seen is a rejection. A
    folder that is a run of synth, or a log with a file for each event, comes whole.
    """
    if not source.is_dir() or is_run(source):
        yield source, printable(source.resolve().name)
        return

    # names are any bytes: they are told on one printable line, also in provenance
    def name_of(path: str | Path) -> str:
        return printable(Path(path).relative_to(source).as_posix())

    # what os.walk cannot list is told after the rest
    failed: list[OSError] = []
    seen = {os.path.realpath(source)}

    for folder, folders, names in os.walk(source, onerror=failed.append, followlinks=True):
        inside = [Path(folder, name) for name in folders]
        folders.clear()

        # real folders before links to them: the link is the one that is read elsewhere
        for path in sorted(inside, key=lambda path: (path.is_symlink(), path.name)):
            if (place := os.path.realpath(path)) in seen:
                detail = "a link to a folder that is read elsewhere"
                yield Rejection(name_of(path), "folder", "folder_again", detail)
            elif is_run(path):
                yield path, name_of(path)
            else:
                folders.append(path.name)

            seen.add(place)

        # os.walk goes on into those that are left here
        folders.sort()
        if is_copy(Path(folder)):
            detail = "the events of the folder beside it once more"
            yield Rejection(name_of(folder), "folder", "folder_again", detail)
        elif are_pieces(Path(folder), names):
            yield Path(folder), name_of(folder)
        else:
            yield from ((Path(folder, name), name_of(Path(folder, name))) for name in sorted(names))

    for error in failed:
        name = name_of(error.filename or source)
        yield Rejection(name, "folder", "unreadable", one_line(error.strerror or str(error)))
