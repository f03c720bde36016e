"""What passes between reading a file and having trajectories: records, rejections, imported pairs."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from schemas.canonical import content_hash
from schemas.identity import trajectory_id
from schemas.task import Task
from schemas.trajectory import Trajectory


class Record(msgspec.Struct, frozen=True):
    """One JSON value of a file; `locator` is its place in it (0-based index, or `line` and its 1-based number).

    `sha` is the hash of the file's unpacked content: the same records have the same ids, however they are named or packed.
    """

    file: str
    sha: str
    locator: str
    value: Any

    def ids(self, format: str) -> tuple[str, str]:
        """(slot_id, trajectory_id) of what stands here; exact duplicates at two places are two."""
        slot = content_hash(["import", format, self.sha, self.locator])
        return slot, trajectory_id(slot, 0)

    def source(self, format: str) -> str:
        """`<format>:<content hash>:<locator>:<file name>`: provenance without a path of this machine."""
        return f"{format}:{self.sha}:{self.locator}:{self.file}"

    def rejected(self, reason: str, detail: str = "") -> "Rejection":
        """This record as one that does not come in."""
        return Rejection(self.file, self.locator, reason, one_line(detail))


class Rejection(msgspec.Struct, frozen=True):
    """Something that was found and does not come in; `reason` is a short stable name that becomes a counter."""

    file: str
    locator: str
    reason: str
    detail: str = ""


class Imported(msgspec.Struct, frozen=True):
    """A trajectory with the task that it is an attempt at."""

    task: Task
    trajectory: Trajectory


class ImportSettings(msgspec.Struct, frozen=True):
    """`reward_threshold`: a reward of at least this is a success (published rewards may be composites in 0..1)."""

    reward_threshold: float = 1.0


Importer = Callable[[Iterable[Record | Rejection], ImportSettings], Iterator[Imported | Rejection]]
"""Reads the records of one file; rejections among them are handed on."""


def one_line(text: str) -> str:
    """Text for a rejection's detail: one line, at most 200 characters, valid UTF-8."""
    return " ".join(text.encode(errors="replace").decode().split())[:200]
