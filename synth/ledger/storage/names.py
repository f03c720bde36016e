"""Which paths and URLs a run or a dataset can lie at, and where the names in it may lead: nowhere
else, whoever wrote the line, the row or the link that they come from.
"""

import os
import re

from synth.schemas import DamagedError

PROTOCOLS = ("file", "local", "memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl")
"""File systems that can create a file only where there is none: what a ledger stands on."""
CREDENTIALS = (
    "the URL holds a user name or a key, and would be stored and shown; leave it out, and set "
    "what the file system reads itself, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)
IDENTIFIER = r"[A-Za-z0-9][A-Za-z0-9_.: -]{0,127}"
"""An id that can be part of a file's name: no folder, no pattern, nothing hidden."""
_PACKAGES = {"s": "-c constraints.txt -e '.[s3]'", "g": "gcsfs", "a": "adlfs"}
"""What to install, by the first letter of the protocols that need it."""


def how_to_install(url: str) -> str:
    """What to type where the library for a URL's file system is not installed, after a colon; empty
    for those that need none.
    """
    package = _PACKAGES.get(url[:1]) if "://" in url else None
    return "" if package is None else f": pip install {package}"


def unusable(url: str) -> str | None:
    """Why nothing can lie at a path or URL, in a few words, or None."""
    if not url.strip():
        return "the name is empty"
    try:
        url.encode()
    except UnicodeEncodeError:
        return (
            "the name is not UTF-8; rename it, or, where it looks right, set LANG=C.UTF-8: "
            "this process takes names for ASCII"
        )
    if any(character in url for character in "\n\r\0"):
        return "the name holds a line break"
    if "::" in url:
        return "the name holds `::`, which would chain file systems"
    protocol, separator, rest = url.partition("://")
    if url.startswith("data:") or (separator and protocol not in PROTOCOLS):
        return "files there cannot be created safely; use a folder, s3://, gs:// or abfs://"
    if separator and not rest.strip("/") and protocol not in ("file", "local"):
        return f"it names no folder; write {protocol}://somewhere/run"
    return None


def plain(identifier: str) -> bool:
    """Whether an id can be part of a file's name."""
    return re.fullmatch(IDENTIFIER, identifier) is not None


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
    place = root
    for part in parts if local else ():
        place = f"{place}/{part}"
        # not by pathlib: a folder that one may not enter is told by who reads it
        if os.path.islink(place) and not _leads_into(place, root):  # noqa: PTH114
            raise DamagedError(
                f"{place}: is a link that leads out of the folder {root}; put what it leads to in "
                "its place"
            )
    return f"{root}/{name}"


def _leads_into(place: str, root: str) -> bool:
    """Whether what lies at a place is below a root, whatever links lead there."""
    place, root = os.path.realpath(place), os.path.realpath(root)
    return os.path.commonpath([place, root]) == root
