"""The keeper of branches, as seen from here: one process that holds all mounts, started when the
first branch is made.
"""

import array
import asyncio
import marshal
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synth.confinement.cgroups import cgroup_folders
from synth.confinement.keeper.messages import LENGTH, packed, receive
from synth.schemas import ConfigError

_PROGRAM = "import sys; sys.path.insert(0, sys.argv[4]); from {} import main; main()"
_LONG = 1 << 20
_MODULE = "synth.confinement.keeper.serving"
_KEEPERS: dict[int, "Keeper"] = {}
_STARTING = threading.Lock()


class KeeperEndedError(RuntimeError):
    """The keeper of branches is no more, and no branch of it."""


class Keeper:
    """The process, and the line to it. `enter` are the words of a program that goes into its
    namespaces; `how` says how it makes branches.
    """

    def __init__(self, way: Sequence[str], who: str) -> None:
        self._line, theirs = socket.socketpair()
        here = str(Path(__file__).resolve().parents[2])
        program = [sys.executable, "-I", "-S", "-c", _PROGRAM.format(_MODULE)]
        self._process = subprocess.Popen(
            [*way, *program, str(theirs.fileno()), who, str(os.getpid()), here, *cgroup_folders()],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        said = receive(self._line)
        if said is None:
            self._process.wait()
            self._line.close()
            raise OSError(0, "no namespace of its own can be had")

        self.overlays, self.how = said[0] == "overlay", said[1]
        self.dropped = deque[int]()
        self._spaces = _spaces(self._process.pid) if way else {}
        self.enter = _entering(self._spaces)

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid

    def connection(self) -> "BranchLine":
        """A line for one branch."""
        ours, theirs = socket.socketpair()
        with theirs:
            number = array.array("i", [theirs.fileno()])
            said = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, number)]
            try:
                self._line.sendmsg([b"+"], said)
            except OSError:
                ours.close()
                raise KeeperEndedError("the keeper of branches has ended") from None

        return BranchLine(self, ours)

    def close(self) -> None:
        """Lets it end; all its mounts go with it."""
        self._line.close()
        for each in self._spaces.values():
            os.close(each)
        self._spaces = {}
        self._process.wait()


class BranchLine:
    """The line to the keeper for one branch. A question that was asked is answered before the next,
    though its asker be gone.
    """

    def __init__(self, keeper: Keeper, line: socket.socket) -> None:
        self.keeper, self._line = keeper, line
        self._lock = asyncio.Lock()
        self._open = set[asyncio.Task[Any]]()
        line.setblocking(False)

    async def ask(self, name: str, *arguments: Any) -> Any:
        """What the keeper answers. Raises `OSError` as it does, and `KeeperEndedError`."""
        asked = asyncio.create_task(self._asked(name, arguments))
        self._open.add(asked)
        asked.add_done_callback(self._open.discard)
        return await asyncio.shield(asked)

    async def _asked(self, name: str, arguments: tuple[Any, ...]) -> Any:
        loop = asyncio.get_running_loop()
        async with self._lock:
            dropped = [self.keeper.dropped.popleft() for _ in range(len(self.keeper.dropped))]
            try:
                await loop.sock_sendall(self._line, packed((name, arguments, dropped)))
                size = LENGTH.unpack(await self._bytes(LENGTH.size))[0]
                said = await _loaded(await self._bytes(size))
            except (OSError, EOFError):
                raise KeeperEndedError("the keeper of branches has ended") from None

        if said[0] == "refused":
            _, number, words, place = said
            raise OSError(number, words, place) if place else OSError(number, words)
        if said[0] == "broken":
            raise RuntimeError(f"the keeper of branches failed: {said[1]}")
        return said[1]

    async def _bytes(self, wanted: int) -> bytearray:
        found, loop = bytearray(), asyncio.get_running_loop()
        while len(found) < wanted:
            part = await loop.sock_recv(self._line, min(wanted - len(found), 1 << 20))
            if not part:
                raise EOFError
            found += part

        return found

    def close(self) -> None:
        """Ends the branch, if it has not ended, and questions whose askers are gone."""
        for asked in self._open:
            asked.cancel()
        self._line.close()


async def _loaded(said: bytearray) -> Any:
    """What a message says; a long one is read beside the event loop."""
    return (
        marshal.loads(said) if len(said) < _LONG else await asyncio.to_thread(marshal.loads, said)
    )


def keeper() -> Keeper:
    """This process's keeper, started where there is none; it takes a moment. Raises `ConfigError`
    where none can be started.
    """
    with _STARTING:
        found = _KEEPERS.get(os.getpid())
        if found is not None and found.lives:
            return found
        if found is not None:
            found.close()
        _KEEPERS[os.getpid()] = made = _started()
        return made


def _started(*, overlays: bool = True) -> Keeper:
    """With namespaces of its own where they can be had, else without."""
    as_root = os.geteuid() == 0
    apart = ["unshare", "--mount", "--propagation", "private"]
    way = apart if as_root else [*apart, "--user", "--map-root-user"]
    who = "root" if as_root else "user"

    for words, name in ((way, who if overlays else f"{who}:copies"), ([], f"{who}:copies")):
        try:
            return Keeper(words, name)
        except OSError:
            continue

    raise ConfigError("branches need another process, and none could be started")


def _spaces(process: int) -> dict[str, int]:
    """Descriptors of a process's namespaces: its number may be another's one day."""
    names = ("mnt",) if os.geteuid() == 0 else ("user", "mnt")
    return {
        name: os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names
    }


def _entering(spaces: dict[str, int]) -> Sequence[str]:
    """`nsenter` with what it enters."""
    if not spaces:
        return ()

    options = {"user": "--user", "mnt": "--mount"}
    ours = f"/proc/{os.getpid()}/fd"
    entered = [f"{options[name]}={ours}/{number}" for name, number in spaces.items()]
    return ["/usr/bin/nsenter", *entered, *(["--preserve-credentials"] if len(spaces) > 1 else [])]


def only_copies() -> None:
    """From now on this process makes branches by copies, whatever can be had: for comparisons."""
    with _STARTING:
        found = _KEEPERS.pop(os.getpid(), None)
        if found is not None:
            found.close()
        _KEEPERS[os.getpid()] = _started(overlays=False)
