"""A process as a worker on a run: one id until it is declared dead, which its claims name.

A lock (flock) beside the journals tells the processes of the same machine at once what the silence
of the worker's record tells others after a term.
"""

import fcntl
import os
from pathlib import Path

from synth.leases import heartbeat
from synth.leases.heartbeat import Heartbeat
from synth.ledger.storage import Storage, write_error

LOCK = "holder-"


class Holder:
    """Alive from the moment it is made, so that no claim is seen before its holder. Raises
    `SynthError`.
    """

    def __init__(self, storage: Storage, journals: Path, beat: Heartbeat) -> None:
        self.id = beat.id
        self._storage = storage
        self._lock_path, unlocked = _lock_path(journals, self.id), journals / f".{self.id}.lock"
        try:
            self._lock = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            unlocked.rename(self._lock_path)  # nobody sees it before it is locked
        except OSError as error:
            raise write_error(str(self._lock_path), error) from error
        heartbeat.write(storage, beat)

    def renew(self, beat: Heartbeat) -> bool:
        """Replaces the record; False where this holder was declared dead, as far as can be seen
        here.
        """
        found = heartbeat.read(self._storage, self.id)
        if found is None or found.state != "running":
            return False
        heartbeat.write(self._storage, beat)
        return True

    def close(self, beat: Heartbeat | None) -> None:
        """It holds nothing any more: what it has claimed is free. `beat` is its last record, None
        where another has written that.
        """
        try:
            if beat is not None:
                heartbeat.write(self._storage, beat)
        finally:
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)


def lives_here(journals: Path, holder: str) -> bool:
    """Whether a process of this machine, which has these journals, is that holder; a stopped one
    is.
    """
    try:
        lock = os.open(_lock_path(journals, holder), os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise write_error(str(_lock_path(journals, holder)), error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def dead_here(journals: Path) -> list[str]:
    """Holders that processes of this machine were, and have left their locks as they died."""
    holders = [
        path.name.removeprefix(LOCK).removesuffix(".lock")
        for path in journals.glob(f"{LOCK}*.lock")
    ]
    return [holder for holder in holders if not lives_here(journals, holder)]


def forget(journals: Path, holder: str) -> None:
    """Removes the lock that a dead process of this machine has left."""
    _lock_path(journals, holder).unlink(missing_ok=True)


def _lock_path(journals: Path, holder: str) -> Path:
    return journals / f"{LOCK}{holder}.lock"
