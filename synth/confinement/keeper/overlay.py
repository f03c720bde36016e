"""Branches by an overlay file system: a layer of differences in memory over a folder."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from synth.confinement.keeper.bases import Base
from synth.confinement.keeper.layers import MOST_LAYERS, BranchLayer, Disk
from synth.confinement.keeper.merging import OPAQUE, is_opaque, is_whiteout, merge
from synth.confinement.keeper.mounts import GUARDED, mount, unmount
from synth.confinement.keeper.trees.times import Clock
from synth.confinement.keeper.trees.walking import entries, folder, is_folder

_MOST_SIZES, _MOST_SIZES_FROZEN = 2, 8
"""So many times its size may the layers of a branch hold before they are made one, and with all
points that somebody still holds.
"""


@dataclass(frozen=True)
class Point:
    """A frozen point: layers, the latest first; with `copied`, the first is to be copied and not
    lain upon, since hard links end where another layer begins. `tick` counts what was done.
    """

    layers: tuple[BranchLayer, ...]
    copied: bool
    tick: int


class OverlayBranch:
    """A branch whose tree is mounted at `place`, for the keeper and for the commands in it. `full`
    tells whether there was no room left when something had last been done.
    """

    def __init__(self, base: Base, number: int, size: int, *, as_root: bool) -> None:
        self.base, self.place, self.user = base, f"m{number}", base.user
        self._linked, self.full = False, False
        self._options = "" if as_root else ",userxattr"
        self._opaque = OPAQUE[0] if as_root else OPAQUE[1]
        self._disk = Disk(f"t{number}", size)
        self._below = tuple[BranchLayer, ...]()
        self._top = self._disk.layer(os.fstat(base.root))
        self.clock = Clock(Path(self._top.work).stat().st_mtime_ns, base.latest)
        Path(self.place).mkdir()
        self._mount()

    def settle(self) -> None:
        """After whatever may have written: the layer that was written goes below, another one
        comes. That happens whether or not anybody freezes: what the tree looks like (links and
        sizes of folders) then depends on what was done in it alone.
        """
        self.full = self._disk.full
        with folder(self._top.upper) as root:
            found = list(entries(root))

        written = [each for each in found if not is_whiteout(each[1])]
        with folder(self.place) as tree:
            self.clock.settle(tree, written)
        self._top.held = sum(state.st_blocks * 512 for _, state in found)
        self._linked = any(s.st_nlink > 1 and not stat.S_ISDIR(s.st_mode) for _, s in written)

        if found and not self._linked:
            below = (self._top, *self._below)
            crowded = sum(layer.held for layer in below) > _MOST_SIZES * self._disk.size
            if len(below) > MOST_LAYERS or crowded:
                below = (self._copy_of(below),)
            self._go_on(below)

    def freeze(self) -> Point:
        """The layers as they are; the one that may yet be written is copied, if anything is in
        it.
        """
        copy = (self._copy_of((self._top,)),) if self._linked else ()
        return Point((*copy, *self._below), self._linked, self.clock.tick)

    def thaw(self, point: Point) -> None:
        """Goes on from there; what was written since is given up."""
        self.clock.tick, self._linked = point.tick, point.copied
        if point.copied:
            first, *rest = point.layers
            self._go_on(tuple(rest), self._copy_of((first,)))
        else:
            self._go_on(point.layers)

    def _go_on(self, below: tuple[BranchLayer, ...], top: BranchLayer | None = None) -> None:
        like = Path(below[0].upper).stat() if below else os.fstat(self.base.root)
        self._disk.make_room(_MOST_SIZES_FROZEN * self._disk.size)
        top = top or self._disk.layer(like)  # what cannot be begun leaves the tree as it is
        unmount(self.place)
        self._below, self._top = below, top
        self._mount()

    def _mount(self) -> None:
        lower = ":".join([*(layer.upper for layer in self._below), self.base.place])
        options = f"lowerdir={lower},upperdir={self._top.upper},workdir={self._top.work}"
        more = f",redirect_dir=nofollow,metacopy=off,index=off,xino=off{self._options}"
        mount("synth", self.place, "overlay", GUARDED, options + more)

    def _copy_of(self, layers: tuple[BranchLayer, ...]) -> BranchLayer:
        """One layer that says what several say, the latest of them first. A single one may lie on
        others, several are all that there are.
        """
        base = self.base.root if len(layers) > 1 else None
        self._disk.make_room(2 * _MOST_SIZES_FROZEN * self._disk.size)
        made = self._disk.layer(Path(layers[0].upper).stat())
        with folder(made.upper) as into:
            for layer in reversed(layers):
                with folder(layer.upper) as root:
                    merge(root, into, base, self._opaque)

            made.held = sum(state.st_blocks * 512 for _, state in entries(into))

        state = Path(layers[0].upper).stat()
        os.utime(made.upper, ns=(state.st_atime_ns, state.st_mtime_ns))
        return made

    def differing(self) -> list[str]:
        """Paths at which files may differ from the base's; at all others they do not."""
        found = set[str]()
        for layer in (self._top, *self._below):
            with folder(layer.upper) as root:
                for path, state in entries(root):
                    found |= self._differing(root, path, state)

        return sorted(found)

    def _differing(self, layer: int, path: str, state: os.stat_result) -> set[str]:
        """The path of a layer's entry, and those of the base that it hides."""
        if stat.S_ISDIR(state.st_mode) and not is_opaque(layer, path):
            return {path}

        hidden = entries(self.base.root, path) if is_folder(self.base.root, path) else ()
        return {path, *(name for name, _ in hidden)}

    def close(self) -> None:
        """Gives back its mounts, and its memory as far as no point needs it."""
        unmount(self.place)
        Path(self.place).rmdir()
        self._disk.close()
        self._below = ()
        del self._top  # the last that holds the layer, unless a point does
