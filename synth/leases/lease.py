"""A lease on a piece of work: an object that its holder renews; who sees it unchanged for a whole term may take the work over.

`RUN/leases/<work>.<token>` holds no time: each watcher counts the term on its own clock, from when it saw the last change, so clocks
that differ or jump mean nothing. Token 0 goes to who creates the object; every further one to who writes the fence with it into the
manifest, which from then on refuses what the former holder commits when it wakes. A lease only saves work; the fence keeps the truth.
"""

import asyncio
import contextlib
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from schemas.errors import SynthError
from synth.boundary import called
from synth.leases.place import place
from synth.ledger.fencing import FENCE, Fence, FencedError
from synth.ledger.ledger import Ledger

FOLDER = "leases"
RENEWALS = 4
"""In a term."""


class Record(msgspec.Struct, frozen=True):
    """What lies in storage; it changes with every renewal. `place`: whose journals the holder writes."""

    holder: str
    place: str
    term_s: float
    renewal: int = 0
    released: bool = False


@dataclass(slots=True, eq=False)
class Lease:
    """A piece of work that this process holds; `lost` once another worker was seen to have taken it over."""

    fence: Fence
    record: Record
    lost: bool = False
    on_loss: Callable[[], None] = lambda: None
    writing: threading.Lock = field(default_factory=threading.Lock)


class Leases:
    """The leases that this process takes on the work of one run. A thread renews them: a busy event loop is no dead worker."""

    def __init__(self, ledger: Ledger, *, term_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger = ledger
        self._storage = ledger.storage
        self._term_s = term_s
        self._clock = clock
        self._place = place(ledger.journal_folder)
        self._held: dict[str, Lease] = {}
        self._seen: dict[str, tuple[int, bytes | None, float]] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, work: str) -> Lease | None:
        """A lease on a piece of work whose journal is locked here; None while another worker holds it.

        Taken over is what its holder has released, what a process with the journals of this place has left behind (it is dead, or the
        journal were locked), and what has not changed for a term. Raises `SynthError` where the storage cannot be used.
        """
        token = self._ledger.state.fences.get(work, 0)
        fresh = Record(uuid.uuid4().hex, self._place, self._term_s)
        if token == 0 and self._storage.create(_name(work, 0), msgspec.json.encode(fresh), durable=False):
            if self._ledger.refresh().fences.get(work, 0) == 0:
                return self._hold(work, 0, fresh)
            self._storage.discard(_name(work, 0))
            return None
        if not self._may_be_taken(work, token):
            return None
        if self._ledger.refresh().fences.get(work, 0) != token or not self._ledger.fence(work, token + 1, fresh.holder):
            return None  # somebody was quicker
        self._storage.replace(_name(work, token + 1), msgspec.json.encode(fresh))
        return self._hold(work, token + 1, fresh)

    async def under(self, lease: Lease, work: Callable[[], Awaitable[None]]) -> None:
        """Awaits `work()`, whose commits are refused once it is taken over; it is cancelled as soon as that is seen.

        Raises `FencedError` in both cases.
        """

        async def held() -> None:
            FENCE.set(lease.fence)
            await work()

        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(held())
        lease.on_loss = lambda: _soon(loop, task)
        try:
            await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if lease.lost and (this is None or not this.cancelling()):
                raise FencedError(f"{lease.fence.work}: taken over while it was done here") from None
            raise

    def give_back(self, lease: Lease) -> None:
        """Ends a lease, so that others need not wait for its end: the first holder's object is removed, a later one's says so."""
        self._held.pop(lease.fence.work, None)
        self._seen.pop(lease.fence.work, None)
        if lease.lost:
            return
        name = _name(lease.fence.work, lease.fence.token)
        released = msgspec.json.encode(msgspec.structs.replace(lease.record, released=True))
        with lease.writing, contextlib.suppress(SynthError):  # it ends by itself
            if lease.fence.token == 0:
                called("lease", lambda: self._storage.discard(name))
            else:
                called("lease", lambda: self._storage.replace(name, released))

    def close(self) -> None:
        """Renews nothing any more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _may_be_taken(self, work: str, token: int) -> bool:
        """Whether the present holder is through, dead, or silent for a term, as far as this worker has seen."""
        try:
            blob = self._storage.read(_name(work, token))
        except FileNotFoundError:  # just done, or taken over a moment ago and not yet written
            blob = None
        record = _decoded(blob)
        if record is not None and (record.released or record.place == self._place):
            return True
        before = self._seen.get(work)
        if before is None or before[:2] != (token, blob):
            self._seen[work] = (token, blob, self._clock())
            return False
        return self._clock() - before[2] > (record.term_s if record is not None else self._term_s)

    def _hold(self, work: str, token: int, record: Record) -> Lease:
        lease = self._held[work] = Lease(Fence(work, token), record)
        self._seen.pop(work, None)
        if self._thread is None:
            self._thread = threading.Thread(target=self._renew_all, name="leases", daemon=True)
            self._thread.start()
        return lease

    def _renew_all(self) -> None:
        while not self._over.wait(self._term_s / RENEWALS):
            for lease in list(self._held.values()):
                with contextlib.suppress(SynthError):  # tried again at the next renewal
                    called("lease", lambda lease=lease: self._renew(lease))  # type: ignore[misc]

    def _renew(self, lease: Lease) -> None:
        work, token = lease.fence.work, lease.fence.token
        if self._storage.size(_name(work, token + 1)) is not None:
            lease.lost = True
            lease.on_loss()
        with lease.writing:
            if self._held.get(work) is lease and not lease.lost:
                lease.record = msgspec.structs.replace(lease.record, renewal=lease.record.renewal + 1)
                self._storage.replace(_name(work, token), msgspec.json.encode(lease.record))


def _name(work: str, token: int) -> str:
    return f"{FOLDER}/{work}.{token}"


def _decoded(blob: bytes | None) -> Record | None:
    try:
        return None if blob is None else msgspec.json.decode(blob, type=Record)
    except msgspec.MsgspecError:
        return None


def _soon(loop: asyncio.AbstractEventLoop, task: "asyncio.Future[None]") -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: the work is over anyway
        loop.call_soon_threadsafe(task.cancel)
