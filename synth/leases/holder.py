"""A process as a holder of leases: one id until it is declared dead, which its claims name and
which it gives signs of life under.

`RUN/leases/holders/<id>` changes with every sign of life and is removed when the process is
through, or by who declares it dead. A lock
(flock) beside the journals tells the processes of the same machine the same without any wait.
"""

import fcntl
import os
import uuid
from pathlib import Path

import msgspec

from synth.ledger.storage import Storage, write_error

FOLDER = "leases/holders"
LOCK = "holder-"


class Beat(msgspec.Struct, frozen=True):
    """What lies in storage; it changes with every sign of life. It says what a claim does, so that
    on a disk a claim is a link to it.
    """

    term_s: float
    holder: str = ""
    place: str = ""
    renewal: int = 0


class Holder:
    """Alive from the moment it is made, so that no claim is seen before its holder. Raises
    `SynthError`.
    """

    def __init__(self, storage: Storage, journals: Path, term_s: float, place: str) -> None:
        self.id = uuid.uuid4().hex
        self._storage = storage
        self._beat = Beat(term_s, self.id, place)
        self._lock_path, unlocked = _lock_path(journals, self.id), journals / f".{self.id}.lock"
        try:
            self._lock = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            unlocked.rename(self._lock_path)  # nobody sees it before it is locked
        except OSError as error:
            raise write_error(str(self._lock_path), error) from error
        storage.replace(beat_name(self.id), msgspec.json.encode(self._beat))

    def renew(self) -> bool:
        """Gives a sign of life; False where this holder was declared dead, as far as can be seen
        here.
        """
        if self._storage.size(beat_name(self.id)) is None:
            return False
        self._beat = msgspec.structs.replace(self._beat, renewal=self._beat.renewal + 1)
        self._storage.replace(beat_name(self.id), msgspec.json.encode(self._beat))
        return True

    def close(self) -> None:
        """It holds nothing any more: what it has claimed is free."""
        try:
            self._storage.discard(beat_name(self.id))
        finally:
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)


def beat_name(holder: str) -> str:
    """Where a holder gives its signs of life."""
    return f"{FOLDER}/{holder}"


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
