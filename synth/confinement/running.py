"""One command of a confined tree: started, bounded in time and output, ended with all it began."""

import asyncio
import fcntl
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from synth.confinement.cgroups import Cgroup, new_cgroup
from synth.confinement.command import ProcessLimits, environment_file
from synth.confinement.processes import LOOK_S, held

RESULT_FD = "SYNTH_RESULT_FD"
"""The variable that names the descriptor for a command's result."""
RESULT_BYTES = 32 << 20
_FIRST_FREE_FD = 10
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


class Kept:
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


Line = Callable[[int | None, Sequence[Path]], Sequence[str]]
"""The command line, given the descriptor of the environment and the entrances of cgroups."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Of one command: `time_s` and `output_bytes` end it or cut what it prints, `limits` are those
    of its tree.
    """

    limits: ProcessLimits
    time_s: float
    output_bytes: int


async def ran(line: Line, bounds: Bounds, environment: Mapping[str, str], *, result: bool) -> Ran:
    """Runs a command line to its end, or ends it with all that it started when its time is up."""
    group = new_cgroup(bounds.limits)
    try:
        return await _ran(line, bounds, environment, group, result=result)
    finally:
        if group is not None:
            await group.close()


async def _ran(
    line: Line,
    bounds: Bounds,
    environment: Mapping[str, str],
    group: Cgroup | None,
    *,
    result: bool,
) -> Ran:
    printed, written = Kept(bounds.output_bytes), bytearray()
    read, write = _pipe() if result else (-1, -1)
    named = {**environment, RESULT_FD: str(write)} if result else environment
    entrances = [] if group is None else group.entrances

    try:
        with environment_file(named) as file:
            process = await _started(line(file, entrances), [file, write])
    except BaseException:
        _close(read)
        raise
    finally:
        _close(write)

    work = [asyncio.create_task(_output(process, printed))]
    if result:
        work.append(asyncio.create_task(_result(read, written)))

    ended_by = await _ended(process, work, bounds, group)
    output, left_out = printed.told()
    code = None if ended_by is not None else process.returncode
    ended_by = ended_by or (None if group is None else group.met)
    if code == _FILE_TOO_LARGE:
        ended_by = ended_by or "size"
    return Ran(code, output, ended_by, bytes(written), left_out)


async def _started(words: Sequence[str], inherited: Sequence[int | None]) -> Process:
    return await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ.get("PATH", os.defpath)},
        start_new_session=True,
        pass_fds=[each for each in inherited if each is not None and each >= 0],
    )


async def _ended(
    process: Process, work: list[asyncio.Task[None]], bounds: Bounds, group: Cgroup | None
) -> EndedBy | None:
    """Waits for the end, or brings it about; why it had to."""
    whole = asyncio.gather(*work, process.wait())
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
    if process.returncode is not None:
        return

    for child in _children(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)

    if not _children(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _children(process: int) -> list[int]:
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:  # noqa: PTH123
            return [int(each) for each in file.read().split()]
    except OSError:
        return []


async def _output(process: Process, printed: Kept) -> None:
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


def _pipe() -> tuple[int, int]:
    """A pipe whose writing end has a number that survives the start of a program."""
    read, write = os.pipe()
    try:
        return read, fcntl.fcntl(write, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    finally:
        os.close(write)


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)
