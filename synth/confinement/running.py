"""One command of a confined tree: started, bounded in time and output, ended with all it began."""

import asyncio
import json
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from synth.confinement.cgroups import Cgroup, new_cgroup
from synth.confinement.command import ProcessLimits, environment_file, lifted
from synth.confinement.processes import LOOK_S, held
from synth.nobodys_time import core

RESULT_FD = "SYNTH_RESULT_FD"
"""The variable that names the descriptor for a command's result."""
RESULT_BYTES = 32 << 20
_CHUNK = 1 << 16
_LEAVE_S = 5.0
_FILE_TOO_LARGE = 128 + signal.SIGXFSZ
EndedBy = Literal["time", "memory", "processes", "size"]


class Ran(msgspec.Struct, frozen=True):
    """How a command ended: its exit status (None where it was ended), what it printed to stdout and
    stderr together, which limit it met, and what it wrote to the descriptor for results.

    Of a longer output the first and the last half are kept; `left_out` bytes stood between.
    """

    code: int | None
    output: bytes
    ended_by: EndedBy | None = None
    result: bytes = b""
    left_out: int = 0


class Ends:
    """The first and the last bytes of a stream, `limit` together."""

    def __init__(self, limit: int) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._first, self._last = limit - limit // 2, limit // 2
        self._seen = 0

    def add(self, data: bytes) -> None:
        """Takes in what comes next."""
        self._seen += len(data)
        room = self._first - len(self._head)
        self._head += data[: max(0, room)]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * self._last + _CHUNK:
            del self._tail[: len(self._tail) - self._last]

    def told(self) -> tuple[bytes, int]:
        """(what is kept, how many bytes are missing in its middle)."""
        tail = self._tail[len(self._tail) - min(self._last, len(self._tail)) :]
        kept = bytes(self._head + tail)
        return kept, self._seen - len(kept)


Line = Callable[[int | None, Sequence[Path], int], Sequence[str]]
"""The command line, given the descriptor of the environment, the entrances of cgroups, and where
bubblewrap is to tell its process.
"""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Of one command: `time_s` and `output_bytes` end it or cut what it prints, `limits` are those
    of its tree.
    """

    limits: ProcessLimits
    time_s: float
    output_bytes: int


async def ran(line: Line, bounds: Bounds, environment: Mapping[str, str], *, result: bool) -> Ran:
    """Runs a command line to its end, or ends it with all that it started when its time is up,
    which begins when a core is free. When this returns, nothing of it lives.
    """
    async with core():
        return await _ran(line, bounds, environment, result=result)


async def _ran(line: Line, bounds: Bounds, environment: Mapping[str, str], *, result: bool) -> Ran:
    group = new_cgroup(bounds.limits)
    read, write = os.pipe()
    write, told = lifted(write), lifted(os.memfd_create("synth-told"))
    named = {**environment, RESULT_FD: str(write)} if result else environment
    entrances = [] if group is None else group.entrances

    try:
        try:
            with environment_file(named) as file:
                inherited = [told, *([write] if result else []), *([] if file is None else [file])]
                process = await _started(line(file, entrances, told), inherited)
        finally:
            os.close(write)

        try:
            return await _followed(process, bounds, group, read)
        finally:
            await _all_gone(told)
    finally:
        os.close(told)
        if group is not None:
            await group.close()


async def _followed(process: Process, bounds: Bounds, group: Cgroup | None, read: int) -> Ran:
    """What a process says, and how it ends."""
    printed, written = Ends(bounds.output_bytes), bytearray()
    work = [asyncio.create_task(_output(process, printed))]
    work.append(asyncio.create_task(_result(read, written)))
    ended_by = await _ended(process, work, bounds, group)
    output, left_out = printed.told()

    code = None if ended_by is not None else process.returncode
    if ended_by is None and group is not None:
        ended_by = group.met
    if ended_by is None and code == _FILE_TOO_LARGE:
        ended_by = "size"
    return Ran(code, output, ended_by, bytes(written), left_out)


async def _all_gone(told: int) -> None:
    """Waits until the first process inside has ended, and with it all others: where bubblewrap was
    killed it ends a moment before them.
    """
    until = time.monotonic() + _LEAVE_S
    while (inside := _first_inside(told)) is not None and time.monotonic() < until:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(inside, signal.SIGKILL)
        await asyncio.sleep(0.001)


def _first_inside(told: int) -> int | None:
    """The process that bubblewrap told of, as long as it runs."""
    said = os.pread(told, 4096, 0)
    if not said:
        return None

    number: int = json.loads(said)["child-pid"]
    try:
        with open(f"/proc/{number}/stat", "rb") as file:  # noqa: PTH123
            return None if file.read().rpartition(b")")[2].split()[0] in b"ZX" else number
    except OSError:
        return None


async def _started(words: Sequence[str], inherited: Sequence[int]) -> Process:
    return await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ.get("PATH", os.defpath)},
        start_new_session=True,
        pass_fds=inherited,
    )


async def _ended(
    process: Process, work: list[asyncio.Task[None]], bounds: Bounds, group: Cgroup | None
) -> EndedBy | None:
    """Waits for the end, or brings it about; why it had to."""
    whole = asyncio.gather(*work, process.wait())
    whole.add_done_callback(_seen)
    watch = asyncio.create_task(_outgrown(process, bounds.limits if group is None else None))
    try:
        both: list[asyncio.Future[Any]] = [whole, watch]
        await asyncio.wait(both, timeout=bounds.time_s, return_when=asyncio.FIRST_COMPLETED)
        if whole.done():
            return None
        return watch.result() if watch.done() else "time"
    finally:
        watch.cancel()
        end(process)
        if group is not None and not whole.done():
            group.kill()
        await asyncio.wait([whole], timeout=_LEAVE_S)
        whole.cancel()


def _seen(whole: "asyncio.Future[Any]") -> None:
    """Of one that was given up on nothing is said later."""
    if not whole.cancelled():
        whole.exception()


async def _outgrown(process: Process, limits: ProcessLimits | None) -> EndedBy:
    """Returns when a tree that no cgroup counts holds more memory than it may."""
    while limits is not None:
        await asyncio.sleep(LOOK_S)
        if held(process.pid).memory > limits.memory_mb << 20:
            return "memory"

    await asyncio.Event().wait()
    raise RuntimeError("nobody sets the event")


def end(process: Process) -> None:
    """Kills what runs inside first: its parent returns when the kernel has ended all of them."""
    if process.returncode is None and not end_inside(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def end_inside(process: int) -> bool:
    """Kills the first process that bubblewrap started, and with it all others; whether there was
    one.
    """
    children = _children(process)
    for child in children:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)

    return bool(children)


def _children(process: int) -> list[int]:
    children = f"/proc/{process}/task/{process}/children"
    try:
        with open(children, encoding="ascii") as file:  # noqa: PTH123
            return [int(each) for each in file.read().split()]
    except OSError:
        return []


async def _output(process: Process, printed: Ends) -> None:
    if process.stdout is None:
        raise RuntimeError("the command was started without a pipe")

    while data := await process.stdout.read(_CHUNK):
        printed.add(data)


async def _result(read: int, found: bytearray) -> None:
    """What comes through a pipe, as far as it may be long."""
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, "rb", buffering=0)
    )
    try:
        while data := await stream.read(_CHUNK):
            found += data[: max(0, RESULT_BYTES - len(found))]
    finally:
        transport.close()
