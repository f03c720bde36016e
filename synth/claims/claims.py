"""Leases on pieces of work: the worker that claims one first has it, until it is through, dead, or
silent for a whole term.

`RUN/claims/<work>.<number>` names the worker and is created if absent; it is never renewed. A
worker has one heartbeat for all its claims (`synth.claims.workers`). It holds no time: each watcher
counts the term on its own clock, from when it saw the last change, so clocks that differ or jump
mean nothing.

A line of the manifest (`synth.ledger.log.fencing`) declares a worker dead. From then on whatever it
commits when it wakes is refused, and all its claims are void. A void claim is followed by the one
with the next number, which again belongs to the worker that creates it. A lease only saves work;
the fence keeps the truth.
"""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from synth.boundary import guard
from synth.claims import workers
from synth.claims.workers import Heartbeat, State, Worker, dead_here, forget, lives_here
from synth.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.ledger.storage.names import plain
from synth.schemas import Plan, PlannedSlot, SynthError

FOLDER = "claims"


class WorkerRecord(msgspec.Struct, frozen=True):
    """What a claim says, as the record of the worker does that made it. `place`: whose journals the
    worker writes.
    """

    holder: str = msgspec.field(name="id")
    place: str = ""
    released: bool = False


class Claim(msgspec.Struct, frozen=True):
    """Another worker's claim; `record` None where it cannot be read."""

    work: str
    number: int
    record: WorkerRecord | None


class Lease(msgspec.Struct, frozen=True):
    """A piece of work that this process holds, as the worker that it was when it took it."""

    work: str
    number: int
    holder: str


@dataclass(slots=True)
class Units:
    """Counts the units that this process claims, over all stages; at most `most`.

    `earlier_s`: for how long others had worked for the same command when this process began.
    """

    most: int | None = None
    claimed: int = 0
    earlier_s: float = 0.0

    def left(self) -> bool:
        """Whether it may claim another one."""
        return self.most is None or self.claimed < self.most

    def spent(self) -> str:
        """Why a worker that may claim none stops."""
        return f"{self.claimed:,} of {self.most:,} units (--max-units) are done"


class Leases:
    """The leases that this process takes on the work of one run. A thread gives its signs of life:
    a busy event loop is no dead worker. `told`: what they say of how far it is; `started_by`:
    fields of the record that name Prefect's flow run.
    """

    def __init__(
        self,
        ledger: StoredLedger,
        *,
        term_s: float,
        units: Units | None = None,
        told: Callable[[], Mapping[str, object]] = dict,
        flow: str = "",
        clock: Callable[[], float] = time.monotonic,
        **started_by: str,
    ) -> None:
        self.ledger = ledger
        self.units = units or Units()
        self.gone_here: set[str] = set()
        """Workers of this machine that were found dead or through: what they have journaled may be
        taken up.
        """
        self.watchers: set[Callable[[], None]] = set()
        """Called, from any thread, when this process was declared dead."""
        self._told, self._term_s, self._clock = told, term_s, clock
        self._storage, self._journals = ledger.storage, ledger.journal_folder
        self._host_id = workers.host_id(self._journals)
        self._beat = workers.of_this_process(
            flow, ledger.storage, term_s, place=self._host_id, **started_by
        )
        self._worker: Worker | None = None
        self._changing = threading.Lock()
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def holder(self) -> str:
        """The id under which this process takes leases now, alive from here on; another one after
        it was declared dead.
        """
        worker = self._worker  # the thread that gives the signs of life may lose it at any moment
        if worker is not None and worker.id in self.ledger.state.fences:
            self._lose(worker)
            worker = None

        if worker is None:
            beat = self.tell(id=uuid.uuid4().hex)
            worker = self._worker = Worker(self._storage, self._journals, beat)

        if self._thread is None:
            self._thread = threading.Thread(target=self._beat_on, name="leases", daemon=True)
            self._thread.start()

        return worker.id

    def tell(self, **changes: object) -> Heartbeat:
        """This worker's record as of now, which the next sign of life writes."""
        with self._changing:
            said = {**self._told(), "beat": time.time(), **changes}
            self._beat = msgspec.structs.replace(self._beat, **said)
            return self._beat

    def claim(self, work: str, holder: str, number: int = 0) -> Lease | Claim | None:
        """The claim of that number on a piece of work, or the one that another has made; None where
        it is being cleared away just now. Asks the storage only: may be called from any thread.
        """
        name, record = f"{FOLDER}/{work}.{number}", WorkerRecord(holder, self._host_id)
        made = self._storage.link(name, workers.name_of(holder))
        if made is None:
            made = self._storage.create(name, msgspec.json.encode(record), durable=False)
        if made:
            return Lease(work, number, holder)

        try:
            found = _decoded(self._storage.read(name))
        except FileNotFoundError:
            return None

        return Lease(work, number, holder) if found == record else Claim(work, number, found)

    def void(self, claim: Claim) -> bool:
        """Whether a claim counts no more; its holder is declared dead where it is, or was silent
        for a term as far as was seen here.
        """
        if claim.record is None:
            return self._silent(f"{claim.work}.{claim.number}", b"", self._term_s)
        if not claim.record.released and not self._gone(claim.record):
            return False
        if claim.record.place == self._host_id:
            self.gone_here.add(claim.record.holder)
        return True

    def _gone(self, record: WorkerRecord) -> bool:
        holder, here = record.holder, record.place == self._host_id
        if holder in self.ledger.state.fences:
            return True
        beat = workers.read(self._storage, holder)
        if beat is None or beat.state not in ("running", "crashed"):  # it is through, it says
            return True
        if beat.state == "running":  # `crashed` is what another says, who has fenced nothing
            alive = here and lives_here(self._journals, holder)
            if alive or not (here or self._silent(holder, msgspec.json.encode(beat), beat.term_s)):
                return False

        self.ledger.fence(holder, 1, self.holder())
        guard("lease", lambda: _close_dead(self._storage, holder))
        if here:
            forget(self._journals, holder)
        return True

    def give_back(self, lease: Lease) -> None:
        """Ends a lease, so that others need not wait until this process is through with all its
        work.
        """
        if self._worker is not None and self._worker.id == lease.holder:
            released = msgspec.json.encode(WorkerRecord(lease.holder, self._host_id, True))
            # else it ends with this process
            _if_it_can(self._storage.replace, _name(lease), released)

    def discard(self, committed: Sequence[Lease]) -> None:
        """Removes the claims on slots whose commit stands: a worker that claims one again looks at
        the ledger next, and lets it be.
        """
        for lease in committed:  # else cleared away at the stage's end
            _if_it_can(self._storage.discard, _name(lease))

    def close(self, state: State = "stopped", message: str = "") -> None:
        """Gives everything back, and no sign of life any more; the record says how it ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        worker, self._worker = self._worker, None
        if worker is not None:  # where it cannot be written the term runs out
            _if_it_can(worker.close, self.tell(state=state, message=message))

    def _silent(self, what: str, blob: bytes, term_s: float) -> bool:
        """Whether something has not changed for a term on this process's clock, since it was first
        seen as it is.
        """
        now = self._clock()
        before, since = self._seen.get(what, (None, now))
        if before != blob:
            self._seen[what] = (blob, now)
            return False
        return now - since > term_s

    def _lose(self, worker: Worker) -> None:
        """This process was declared dead: all that it held under that id is lost, and it goes on
        under another.
        """
        with self._changing:
            if self._worker is not worker:
                return
            self._worker = None

        _if_it_can(worker.close, None)

        for watcher in list(self.watchers):
            watcher()

    def _beat_on(self) -> None:
        while not self._over.wait(self._beat.every_s):
            _if_it_can(self.renew)  # else tried again at the next renewal

    def renew(self) -> None:
        """One sign of life; or the news that this process was declared dead."""
        worker = self._worker
        if worker is not None and not worker.renew(self.tell()):
            self._lose(worker)


def clear_leases(ledger: StoredLedger, stage_key: str, plan: Plan) -> None:
    """Removes the claims on the work of a stage that is done, and what dead workers have left; what
    cannot be removed stays.
    """
    items = (item for shard in plan.shards for item in shard.items)
    planned = {item.slot_id for item in items if isinstance(item, PlannedSlot)}
    storage, journals = ledger.storage, ledger.journal_folder
    claims = storage.names(FOLDER)
    dead = dead_here(journals)

    for name in claims:
        work = name.rpartition(".")[0]
        if work in planned or work.startswith(f"{stage_key}-") or ledger.state.settled(work):
            _if_it_can(storage.discard, f"{FOLDER}/{name}")  # one may not be allowed to delete

    for worker in dead:
        _if_it_can(_close_dead, storage, worker)
        forget(journals, worker)


def _if_it_can(request: Callable[..., object], *given: object) -> None:
    """Does what nothing depends on; a storage that refuses is let be."""
    with contextlib.suppress(SynthError):
        guard("lease", lambda: request(*given))


def _name(lease: Lease) -> str:
    return f"{FOLDER}/{lease.work}.{lease.number}"


def _decoded(blob: bytes) -> WorkerRecord | None:
    with contextlib.suppress(msgspec.MsgspecError):
        found = msgspec.json.decode(blob, type=WorkerRecord)
        return found if plain(found.holder) else None  # a file is called after it
    return None


def _close_dead(storage: Storage, worker: str) -> None:
    """Writes down that a worker was declared dead, where its record does not say how it ended."""
    beat = workers.read(storage, worker)
    if beat is not None and beat.state == "running":
        workers.close(storage, beat, "crashed", workers.gone(beat))
