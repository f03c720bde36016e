"""What a branch's connection may ask for, by name."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from synth.confinement.keeper.copies import CopiedBranch, CopiedPoint
from synth.confinement.keeper.overlay import OverlayBranch, Point
from synth.confinement.keeper.trees import differences, files
from synth.confinement.keeper.trees.differences import Change

Kept = OverlayBranch | CopiedBranch


class Points(Protocol):
    """The points that somebody holds, by their numbers."""

    points: dict[int, Point | CopiedPoint]

    def keep(self, point: Point | CopiedPoint) -> int:
        """The number by which a point is known from now on."""


def _read(_: Points, branch: Kept, path: str, limit: int) -> bytes:
    with _tree(branch) as root:
        return files.read(root, path, limit)


def _write(_: Points, branch: Kept, path: str, data: bytes) -> None:
    with _tree(branch) as root:
        files.write(root, path, data)
    branch.settle()


def _listed(_: Points, branch: Kept, path: str) -> list[str]:
    with _tree(branch) as root:
        return files.listed(root, path)


def _changes(_: Points, branch: Kept) -> dict[str, Change | None]:
    with _tree(branch) as root:
        return differences.changes(branch.base.root, root, branch.differing())


def _apply(_: Points, branch: Kept, changed: Mapping[str, Change | None]) -> None:
    with _tree(branch) as root:
        differences.apply(root, changed)
    branch.settle()


def _freeze(keeper: Points, branch: Kept) -> int:
    return keeper.keep(branch.freeze())


def _thaw(keeper: Points, branch: Kept, number: int) -> None:
    branch.thaw(keeper.points[number])  # type: ignore[arg-type]  # all of one kind


def _ran(_: Points, branch: Kept) -> bool:
    """After a command: whether it left no room."""
    branch.settle()
    return branch.full


@contextmanager
def _tree(branch: Kept) -> Iterator[int]:
    """A descriptor of a branch's tree."""
    root = os.open(branch.place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield root
    finally:
        os.close(root)


WORK: Mapping[str, Callable[..., Any]] = {
    "read": _read,
    "write": _write,
    "listed": _listed,
    "changes": _changes,
    "apply": _apply,
    "freeze": _freeze,
    "thaw": _thaw,
    "ran": _ran,
}
