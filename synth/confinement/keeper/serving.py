"""The keeper's process: serves one connection per branch, and ends when its parent does.

The parent starts it in namespaces of its own, so that no mount is seen anywhere else, and all of
them go with it.
"""

import array
import itertools
import os
import select
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synth.confinement.keeper.bases import Bases
from synth.confinement.keeper.copies import CopiedBranch, CopiedPoint
from synth.confinement.keeper.messages import receive, send
from synth.confinement.keeper.mounts import GUARDED, mount, unmount
from synth.confinement.keeper.overlay import OverlayBranch, Point
from synth.confinement.keeper.stale import mark, sweep
from synth.confinement.keeper.trees.removing import remove_tree
from synth.confinement.keeper.work import WORK, Kept

ROOM = "/sys"
"""Where the keeper's mounts are, in its own view of the machine: a folder of every Linux, in which
nothing lies that anybody would branch.
"""


_BURIED_S = 20.0


class Service:
    """What all branches share: the bases, and the points that somebody still holds."""

    def __init__(self, *, as_root: bool) -> None:
        self._as_root, self._numbers = as_root, itertools.count()
        self._bases = Bases(as_root=as_root)
        self._lock = threading.Lock()
        self.points = dict[int, Point | CopiedPoint]()
        self.home: str | None = None
        """The folder of branches that are copies; None where they are overlays."""

    def try_overlay(self) -> str:
        """Why no overlay file system can be had, in a few words; empty where it can."""
        try:
            mount("synth", ROOM, "tmpfs", GUARDED, "size=16m,mode=755")
        except OSError as error:
            return f"nothing can be mounted: {error.strerror}"

        os.chdir(ROOM)
        try:
            self._tried()
        except OSError as error:
            os.chdir("/")
            unmount(ROOM)
            return f"no overlay file system: {error.strerror}"

        return ""

    def _tried(self) -> None:
        """A branch that goes through all that branches do. Raises `OSError`."""
        place = Path("trial")
        place.mkdir()
        (place / "a").write_bytes(b"a")
        branch = self.branch(f"{ROOM}/trial", 1 << 20)
        Path(branch.place, "a").unlink()
        branch.settle()
        point = branch.freeze()
        Path(branch.place, "b").write_bytes(b"b")
        branch.settle()
        branch.thaw(point)  # type: ignore[arg-type]  # all are of one kind
        left = os.listdir(branch.place)  # noqa: PTH208 - a name alone
        branch.close()
        shutil.rmtree(place)
        if left:
            raise OSError(0, "a deleted file came back")

    def branch(self, folder: str, size: int) -> Kept:
        """A new branch. Raises `OSError`."""
        if self.home is not None:
            return CopiedBranch(folder, self.home, size, as_root=self._as_root)

        with self._lock:
            base = self._bases.base(folder)
        return OverlayBranch(base, next(self._numbers), size, as_root=self._as_root)

    def serve(self, line: socket.socket) -> None:
        """One branch, from its beginning to the end of its connection."""
        branch: Kept | None = None
        try:
            while (said := receive(line)) is not None:
                name, arguments, dropped = said
                for number in dropped:
                    self.points.pop(number, None)
                if name == "open":
                    made = answer(self.branch, *arguments)
                    branch = made[1] if made[0] == "done" else None
                    send(line, ("done", (branch.place, branch.user)) if branch else made)
                elif name == "close" and branch is not None:
                    closing, branch = branch, None
                    send(line, answer(closing.close))
                elif branch is not None:
                    send(line, answer(self._asked, branch, name, *arguments))
        finally:
            line.close()
            if branch is not None:
                branch.close()

    def _asked(self, branch: Kept, name: str, *arguments: Any) -> Any:
        """What a branch answers; a point that it is frozen at is known by a number."""
        if name == "freeze":
            number = next(self._numbers)
            self.points[number] = branch.freeze()
            return number
        if name == "thaw":
            return branch.thaw(self.points[arguments[0]])  # type: ignore[arg-type]  # of one kind
        return WORK[name](branch, *arguments)


def answer(work: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """What work gives, or its error, as a message."""
    try:
        return "done", work(*arguments)
    except OSError as error:
        return "refused", error.errno or 0, error.strerror or str(error), error.filename or ""
    except (RuntimeError, ValueError, LookupError, TypeError) as error:  # the parent shall know
        return "broken", f"{type(error).__name__}: {error}"


def main() -> None:
    """Serves until the parent has ended. Arguments: the descriptor of the line to it, who we are
    (`root` or `user`; with `:copies` who mounts nothing), and its process.
    """
    line, who, parent = (
        socket.socket(fileno=int(sys.argv[1])),
        sys.argv[2].partition(":"),
        int(sys.argv[3]),
    )
    os.umask(0o022)
    keeper = Service(as_root=who[0] == "root")
    why = "nothing may be mounted here" if who[2] else keeper.try_overlay()
    sweep(Path(tempfile.gettempdir()), groups=False)
    home = tempfile.mkdtemp(prefix=mark()) if why else None
    if home is not None:
        Path(home).chmod(0o711)
        keeper.home = home

    threading.stack_size(1 << 20)
    send(line, ("copies", why) if why else ("overlay", f"overlay as {who[0]}"))
    try:
        _serve_all(keeper, line, os.pidfd_open(parent))
    finally:
        if home is not None:
            remove_tree(home)
        if sys.argv[5:]:
            _swept(sys.argv[5:], hidden=not why)
        os._exit(0)  # not waiting for threads that still read


def _swept(folders: list[str], *, hidden: bool) -> None:
    """Removes the cgroups of the parent, once all in them is buried. They are where our mounts
    hid them.
    """
    os.chdir("/")
    if hidden:
        unmount(ROOM)
    until = time.monotonic() + _BURIED_S
    while any([sweep(Path(folder)) for folder in folders]) and time.monotonic() < until:
        time.sleep(0.1)


def _serve_all(keeper: Service, line: socket.socket, parent: int) -> None:
    """Takes a connection for each branch."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    poll.register(parent, select.POLLIN)

    while True:
        ready = dict(poll.poll())
        if parent in ready:
            return
        said, ancillary, _, _ = line.recvmsg(1, socket.CMSG_SPACE(4))
        if not said:
            return
        for _, _, data in ancillary:
            for number in array.array("i", data):
                one = socket.socket(fileno=number)
                threading.Thread(target=keeper.serve, args=(one,), daemon=True).start()
