"""One flow at a time works on a run directory from this machine; any number of processes may work
on that flow.

A file beside the journals, locked (flock) by every process of the running flow, names that flow; a
lock dies with its process. It is taken alone to write the name, then shared: whoever gets it shared
reads whose flow it is.
"""

import contextlib
import fcntl
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from synth.ledger.storage.errors import accessing
from synth.ledger.storage.journal import try_lock
from synth.schemas import ConfigError

PATIENCE_S = 1.0


class _Running(msgspec.Struct, frozen=True):
    """Whose flow it is: its hash and name, and the process that wrote this."""

    flow: str = ""
    name: str = "unknown"
    pid: int = 0


@contextlib.contextmanager
def flow_lock(folder: Path, flow: str, name: str, url: str) -> Iterator[None]:
    """Holds the run at `url` for the flow with this hash and name. Raises `ConfigError` where
    another flow is running on it.
    """
    path = folder / "flow.lock"
    with accessing(path):
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while (other := _other(file, _Running(flow, name, os.getpid()), path)) is not None:
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"{url}: the flow {other.name!r} is running on it (process {other.pid}), and "
                    "this one differs from it: wait until that one ends, or name another run "
                    "directory"
                )
            time.sleep(random.uniform(0.01, 0.05))
        yield
    finally:
        os.close(file)


def _other(file: int, mine: _Running, path: Path) -> _Running | None:
    """None with the lock held; else the flow that holds it, and the lock is not held."""
    found = _Running()
    with accessing(path):
        if try_lock(file, fcntl.LOCK_EX):
            os.ftruncate(file, 0)
            os.pwrite(file, msgspec.json.encode(mine), 0)
        if not try_lock(file, fcntl.LOCK_SH):
            return found
        with contextlib.suppress(msgspec.MsgspecError):
            found = msgspec.json.decode(os.pread(file, 4096, 0), type=_Running)
        if found.flow == mine.flow:
            return None
        fcntl.flock(file, fcntl.LOCK_UN)
    return found
