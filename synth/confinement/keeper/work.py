"""What a branch's connection may ask of its tree, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from synth.confinement.keeper.copies import CopiedBranch
from synth.confinement.keeper.overlay import OverlayBranch
from synth.confinement.keeper.trees import differences, files
from synth.confinement.keeper.trees.differences import Change
from synth.confinement.keeper.trees.walking import folder

Kept = OverlayBranch | CopiedBranch


def _read(branch: Kept, path: str, limit: int) -> bytes:
    with folder(branch.place) as root:
        return files.read(root, path, limit)


def _write(branch: Kept, path: str, data: bytes) -> None:
    with folder(branch.place) as root:
        files.write(root, path, data)
    branch.settle()


def _listed(branch: Kept, path: str) -> list[str]:
    with folder(branch.place) as root:
        return files.listed(root, path)


def _changes(branch: Kept) -> dict[str, Change | None]:
    with folder(branch.place) as root:
        return differences.changes(branch.base.root, root, branch.differing())


def _apply(branch: Kept, changed: Mapping[str, Change | None]) -> None:
    with folder(branch.place) as root:
        differences.apply(root, changed)
    branch.settle()


def _ran(branch: Kept) -> bool:
    """After a command: whether it left no room."""
    branch.settle()
    return branch.full


WORK: Mapping[str, Callable[..., Any]] = {
    "read": _read,
    "write": _write,
    "listed": _listed,
    "changes": _changes,
    "apply": _apply,
    "ran": _ran,
}
