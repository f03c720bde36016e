"""Names in a run folder: they lead nowhere else, whoever wrote the line, the row or the link that
they come from.
"""

import os
import re

from synth.schemas.errors import DamagedError

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.: -]{0,127}")


def plain(identifier: str) -> bool:
    """Whether an id can be part of a file's name: no folder, no pattern, nothing hidden."""
    return _IDENTIFIER.fullmatch(identifier) is not None


def inside(root: str, name: str, *, local: bool) -> str:
    """The path of a name below a root. Raises `DamagedError` for one that leads out of it, on a
    disk by a link too.
    """
    parts = name.split("/") if name else []
    if any(part in ("", ".", "..") for part in parts) or "\0" in name or "\\" in name:
        raise DamagedError(
            f"{root}: names {name[:120]!r}, which leads out of it; somebody else wrote that: take "
            "nothing from there"
        )
    whole = f"{root}/{name}"
    if local:
        _refuse_link_out(root, parts)
    return whole


def _refuse_link_out(root: str, parts: list[str]) -> None:
    place = root
    for part in parts:
        place = f"{place}/{part}"
        if os.path.islink(place) and not _below(os.path.realpath(place), os.path.realpath(root)):  # noqa: PTH114 - a folder that one may not enter is told by who reads it
            raise DamagedError(
                f"{place}: is a link that leads out of the folder {root}; put what it leads to in "
                "its place"
            )


def _below(place: str, root: str) -> bool:
    return os.path.commonpath([place, root]) == root
