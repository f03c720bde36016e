"""Workers of a run: each has a record, `RUN/workers/<id>.json`, replaced every few seconds.

It is lease, heartbeat and progress in one: what the worker claims is its own while the record
changes, and the record says how far it is and how it ended. The ledger says what is done.
"""

import fcntl
import os
import platform
import time
import uuid
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from synth.ledger.storage import Storage
from synth.ledger.storage.errors import accessing
from synth.ledger.storage.journal import try_lock

FOLDER = "workers"
LOCK = "holder-"
"""Beginning of the names of the locks beside the journals: they tell the processes of the same
machine at once what the silence of a record tells others after a term.
"""
LOCAL_EVERY_S, REMOTE_EVERY_S = 5.0, 15.0
RENEWALS = 4
"""Of a record within the term after which its silence is death."""
MISSED = 6
"""Heartbeats that have not come, after which a process of another machine is looked at closely."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""Since 1970; the bounds refuse what no clock says."""
Every = Annotated[float, msgspec.Meta(gt=0, le=60)]
"""A silent worker is watched for two and a half of them: a record of a stranger makes nobody wait
for longer than that.
"""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

State = Literal["running", "completed", "stopped", "failed", "interrupted", "crashed"]
"""`stopped`: by a ceiling, or with stages left that are not its to do, as by `synth curate`;
`crashed`: found dead by somebody else.
"""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Times are seconds since 1970 by the clock of `host`; `flow_run` and `api` are Prefect's,
    where the run has been started by it.
    `place`: whose journals the worker writes; who has not changed it for `term_s` may be declared
    dead. On a disk a claim is a link to this record.

    `stages_done`: of the run's current flow, whoever did them, as far as this worker has read.
    """

    id: str
    flow: str
    url: str
    host: str
    machine: str | None
    pid: Count
    born: str | None
    began: Seconds
    beat: Seconds
    moved: Seconds
    every_s: Every
    state: State = "running"
    message: str = ""
    stage: str = ""
    done: Count = 0
    total: Count = 0
    unit: str = ""
    faults: Count = 0
    stages_done: Count = 0
    flow_run: str | None = None
    api: str | None = None
    place: str = ""
    term_s: Annotated[float, msgspec.Meta(gt=0, le=1e7)] = 60.0


def of_this_process(
    flow: str, storage: Storage, term_s: float = 60.0, *, identity: str = "", **more: Any
) -> Heartbeat:
    """The first one, under a new id if none is given; `more` are further fields."""
    now = time.time()
    return Heartbeat(
        id=identity or uuid.uuid4().hex,
        flow=flow,
        url=str(Path(storage.url).absolute()) if storage.local else storage.url,
        host=platform.node(),
        machine=_this_machine(),
        pid=os.getpid(),
        born=_born(os.getpid()),
        began=now,
        beat=now,
        moved=now,
        every_s=min(term_s / RENEWALS, LOCAL_EVERY_S if storage.local else REMOTE_EVERY_S),
        term_s=term_s,
        **more,
    )


@lru_cache(maxsize=64)
def host_id(journals: Path) -> str:
    """An id of a run's journals on this machine, drawn by the first process that asks. Raises
    `SynthError`.
    """
    storage = Storage(str(journals))
    storage.create("place", uuid.uuid4().hex.encode(), durable=False)
    return storage.read("place").decode()


def name_of(identity: str) -> str:
    """Where a worker's record lies."""
    return f"{FOLDER}/{identity}.json"


def write(storage: Storage, beat: Heartbeat) -> None:
    """Replaces the record. Raises `SynthError`."""
    storage.replace(name_of(beat.id), msgspec.json.format(msgspec.json.encode(beat), indent=1))


def read(
    storage: Storage, identity: str, say: Callable[[str], None] | None = None
) -> Heartbeat | None:
    """A record by id; None where no file is (a link or a pipe is no record), and where what lies
    there cannot be read, of which `say` is told.
    """
    name = name_of(identity)
    if not storage.is_plain(name):
        return None

    try:
        found = msgspec.json.decode(storage.read(name), type=Heartbeat)
        problem = "" if found.id == identity else "its id is not its name"
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, RecursionError) as error:
        problem = str(error)

    if not problem:
        return found
    if say is not None:
        say(
            f"{storage.url}/{name}: cannot be read as a heartbeat ({problem}); skipped, remove it "
            "if the run is yours"
        )

    return None


def heartbeats(storage: Storage, say: Callable[[str], None] | None = None) -> list[Heartbeat]:
    """All records of a run, the one that began first first; `say` is told of those that cannot be
    read.
    """
    names = sorted(storage.names(FOLDER))
    found = (
        read(storage, name.removesuffix(".json"), say)
        for name in names
        if name.endswith(".json") and not name.startswith(".")
    )
    return sorted(filter(None, found), key=lambda beat: (beat.began, beat.id))


def lives(beat: Heartbeat, now: float | None = None) -> bool | None:
    """Whether the process of a running record lives: on this machine its number and birth tell.

    Of another machine's only its silence tells; None = it has been silent for so long that it may
    be dead (its clock may differ too).
    """
    if beat.machine is not None and beat.machine == _this_machine():
        return _born(beat.pid) == beat.born
    silent_s = (time.time() if now is None else now) - beat.beat
    return True if silent_s < MISSED * beat.every_s else None


def dead(storage: Storage, beats: list[Heartbeat], *, patient: bool = True) -> list[Heartbeat]:
    """Those of `beats` that run by their record, and whose process is gone.

    Those of other machines that are silent are watched for two and a half heartbeats: no difference
    between two clocks looks like death. Without patience they are taken to be alive.
    """
    running = [(beat, lives(beat)) for beat in beats if beat.state == "running"]
    gone = [beat for beat, alive in running if alive is False]
    silent = [beat for beat, alive in running if alive is None]
    if silent and patient:
        time.sleep(2.5 * max(beat.every_s for beat in silent))
        gone += [beat for beat in silent if read(storage, beat.id) == beat]

    return gone


def gone(beat: Heartbeat) -> str:
    """Says of a worker that it is dead."""
    return f"its process {beat.pid} on {beat.host} is gone; what it has committed is kept"


def close(storage: Storage, beat: Heartbeat, state: State, message: str) -> Heartbeat:
    """Writes down how a process has ended that could not do so itself. Raises `SynthError`."""
    closed = msgspec.structs.replace(beat, state=state, message=message)
    write(storage, closed)
    return closed


def _this_machine() -> str | None:
    """The boot and the space of process numbers that this process lives in; None where the system
    does not tell.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _born(pid: int) -> str | None:
    """When a process of this machine was started, in ticks since its boot; None where there is
    none. A number is given out again.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


class Worker:
    """Alive from the moment it is made, so that no claim is seen before its worker. Raises
    `SynthError`.
    """

    def __init__(self, storage: Storage, journals: Path, beat: Heartbeat) -> None:
        self.id = beat.id
        self._storage = storage
        self._lock_path, unlocked = _lock_path(journals, self.id), journals / f".{self.id}.lock"
        with accessing(self._lock_path):
            self._lock = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            unlocked.rename(self._lock_path)  # nobody sees it before it is locked
        write(storage, beat)

    def renew(self, beat: Heartbeat) -> bool:
        """Replaces the record; False where this worker was declared dead, as far as can be seen
        here.
        """
        found = read(self._storage, self.id)
        if found is None or found.state != "running":
            return False
        write(self._storage, beat)
        return True

    def close(self, beat: Heartbeat | None) -> None:
        """It holds nothing any more: what it has claimed is free. `beat` is its last record, None
        where another has written that.
        """
        try:
            if beat is not None:
                write(self._storage, beat)
        finally:
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)


def lives_here(journals: Path, worker: str) -> bool:
    """Whether a process of this machine, which has these journals, is that worker; a process that
    is stopped is.
    """
    path = _lock_path(journals, worker)
    try:
        with accessing(path, may_lack=True):
            lock = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False

    try:
        return not try_lock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def dead_here(journals: Path) -> set[str]:
    """Workers that processes of this machine were, and whose locks stayed as they died."""
    locks = (path.stem.removeprefix(LOCK) for path in journals.glob(f"{LOCK}*.lock"))
    return {worker for worker in locks if not lives_here(journals, worker)}


def forget(journals: Path, worker: str) -> None:
    """Removes the lock that a dead process of this machine has left."""
    _lock_path(journals, worker).unlink(missing_ok=True)


def _lock_path(journals: Path, worker: str) -> Path:
    return journals / f"{LOCK}{worker}.lock"
