"""Leases and commits at 10, 100 and 1000 workers: shards taken whole, by the clock; episodes taken
one by one, in simulated time.

By the clock workers are threads of one process that share one run directory, each with a ledger and
leases of its own, as if on a
machine of its own; one in fifty dies with a shard in its hands. In simulated time:
`benchmarks.heavy_tails`.
Run: `python -m benchmarks.lease_scale [WORKERS ...]`
"""

import asyncio
import math
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time

from benchmarks import heavy_tails
from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import recorded_episodes
from synth.claims import Leases
from synth.claims.claims import FOLDER
from synth.claims.slots import PeerClaims
from synth.claims.workers import FOLDER as WORKERS
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.fencing import FENCE, FencedError
from synth.ledger.log.manifest import StageLine
from synth.schemas.canonical import trajectory_id
from synth.schemas.flow import Shard
from synth.schemas.trajectory import Trajectory

PER_SHARD = 5
"""Episodes: few, because it is not the writing of parquet that is measured."""
TERM_S = 8.0
LIST_PAGE = 1000
"""Names in one answer of an object store to a listing."""
READS = ("get", "head", "list")
"""Of the manifest and of shard files; reads of leases are counted apart."""
DIES = 0.02
REF = StageRef("rollout", "benchmark")


@dataclass
class Tally:
    """What all workers together did."""

    requests: Counter[str] = field(default_factory=Counter)
    committed: int = 0
    conflicts: int = 0
    fenced: int = 0
    taken_over: int = 0
    dead: int = 0
    worked_s: float = 0.0
    wasted_s: float = 0.0
    committing_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


def counted(ledger: StoredLedger, tally: Tally) -> None:
    """Counts the requests that a worker makes of the storage, and the lines that it finds taken."""
    storage = ledger.storage
    create, read, size, names, replace = (
        storage.create,
        storage.read,
        storage.size,
        storage.names,
        storage.replace,
    )

    def counting_create(name: str, blob: bytes, *, durable: bool = True) -> bool:
        made = create(name, blob, durable=durable)
        with tally.lock:
            tally.requests["put"] += 1
            tally.conflicts += not made and name.startswith("manifest/")
        return made

    def counting_read(name: str) -> bytes:
        with tally.lock:
            tally.requests["lease" if name.startswith((FOLDER, WORKERS)) else "get"] += 1
        return read(name)

    def counting_size(name: str) -> int | None:
        with tally.lock:
            tally.requests["lease" if name.startswith((FOLDER, WORKERS)) else "head"] += 1
        return size(name)

    def counting_names(folder: str) -> list[str]:
        found = names(folder)
        with tally.lock:
            tally.requests["list"] += max(1, math.ceil(len(found) / LIST_PAGE))
        return found

    def counting_replace(name: str, content: bytes | Path) -> None:
        with tally.lock:
            tally.requests["put"] += 1
        replace(name, content)

    storage.create = counting_create  # type: ignore[method-assign]
    storage.replace = counting_replace  # type: ignore[method-assign]
    storage.read, storage.size = counting_read, counting_size  # type: ignore[method-assign]
    storage.names = counting_names  # type: ignore[method-assign]


def worker(
    number: int, url: str, shards: list[Shard], mean_s: float, tally: Tally, over: threading.Event
) -> None:
    """Goes through the shards from a place of its own until all are committed, or until it dies."""
    rng = random.Random(number)
    ledger = StoredLedger(url)
    counted(ledger, tally)
    leases = Leases(ledger, term_s=TERM_S)
    leases._host_id = f"machine {number}"
    leases.tell(place=leases._host_id)
    mortal = rng.random() < DIES
    at = rng.randrange(len(shards))
    try:
        while not over.is_set():
            state = ledger.refresh().slots
            todo = [
                shard for shard in shards[at:] + shards[:at] if shard.items[0].slot_id not in state
            ]
            if not todo:
                return
            done = sum(
                _one(number, ledger, leases, shard, rng, mean_s, tally, dies=mortal)
                for shard in todo[:20]
            )
            if done < 0:
                return
            if not done:
                time.sleep(rng.uniform(0.5, 1.5))
    finally:
        if not leases._over.is_set():
            leases.close()


def _one(
    number: int,
    ledger: StoredLedger,
    leases: Leases,
    shard: Shard,
    rng: random.Random,
    mean_s: float,
    tally: Tally,
    *,
    dies: bool,
) -> int:
    """1 where a shard was done, 0 where another has it; a great negative number where the worker
    died over it.
    """
    if leases._over.is_set() or shard.items[0].slot_id in ledger.state.slots:
        return 0
    others = PeerClaims(leases, term_s=TERM_S)
    lease = asyncio.run(others.claim(f"benchmark-{shard.name}"))
    if lease is None:
        return 0
    took_s = rng.lognormvariate(0, 0.6) * mean_s
    if dies:
        time.sleep(took_s * rng.random())
        leases._over.set()  # no sign of life any more, and nothing cleared away
        with tally.lock:
            tally.dead += 1
            tally.wasted_s += took_s / 2
        return -1_000_000
    time.sleep(took_s)
    FENCE.set(lease.holder)
    began = perf_counter()
    try:
        if shard.items[0].slot_id in ledger.refresh().slots:
            return 1
        ledger.commit(REF, trajectories=shard.items)
        with tally.lock:
            tally.committed += 1
            tally.taken_over += lease.number > 0
            tally.worked_s += took_s
            tally.committing_s += perf_counter() - began
    except FencedError:
        with tally.lock:
            tally.fenced += 1
            tally.wasted_s += took_s
    finally:
        FENCE.set(None)
        leases.give_back(lease)
    return 1


def plan(count: int) -> list[Shard]:
    """Shards of episodes with slots of their own."""
    made = recorded_episodes(PER_SHARD, 0)
    return [
        Shard(f"{n:08d}", [_renamed(t, f"{n}-{place}") for place, t in enumerate(made)])
        for n in range(count)
    ]


def _renamed(trajectory: Trajectory, slot: str) -> Trajectory:
    fields = {name: getattr(trajectory, name) for name in trajectory.__struct_fields__}
    return Trajectory(**{**fields, "slot_id": slot, "trajectory_id": trajectory_id(slot, 0)})


def simulated(workers: int, shards: int, mean_s: float) -> list[Figure]:
    """All shards done by so many workers, one of whose shards takes `mean_s` at the median."""
    tally, over = Tally(), threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        ledger = StoredLedger(folder, create=True)
        ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
        work = plan(shards)
        threads = [
            threading.Thread(
                target=worker, args=(n, folder, work, mean_s, tally, over), daemon=True
            )
            for n in range(workers)
        ]
        began, cpu = perf_counter(), process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took_s, cpu_s = perf_counter() - began, process_time() - cpu
        state = StoredLedger(folder).state
        filled = [record.slot_id for shard in state.shards for record in shard.slots]
        if len(filled) != shards * PER_SHARD or len(set(filled)) != len(filled):
            raise RuntimeError(
                f"{len(filled)} slots filled, {len(set(filled))} of them different; "
                f"{shards * PER_SHARD} were planned"
            )
    what = f"{workers} workers"
    return [
        Figure(f"{what}: shards committed, each once", tally.committed),
        Figure(f"{what}: commits per second", tally.committed / took_s, "/s"),
        Figure(f"{what}: time in a commit", 1e3 * tally.committing_s / tally.committed, "ms"),
        Figure(f"{what}: lines found taken, per commit", tally.conflicts / tally.committed),
        Figure(
            f"{what}: GET, HEAD and LIST per commit",
            sum(tally.requests[kind] for kind in READS) / tally.committed,
        ),
        Figure(f"{what}: reads of leases per commit", tally.requests["lease"] / tally.committed),
        *(
            Figure(f"{what}: {kind.upper()} per commit", tally.requests[kind] / tally.committed)
            for kind in READS
        ),
        Figure(f"{what}: PUT per commit", tally.requests["put"] / tally.committed),
        Figure(f"{what}: CPU of all workers per commit", 1e3 * cpu_s / tally.committed, "ms"),
        Figure(f"{what}: died with a shard in hand", tally.dead),
        Figure(f"{what}: shards taken over", tally.taken_over),
        Figure(
            f"{what}: work wasted", 100 * tally.wasted_s / (tally.wasted_s + tally.worked_s), "%"
        ),
        Figure(f"{what}: wall clock", took_s, "s"),
    ]


SIZES = {10: (200, 0.5), 100: (600, 3.0), 1000: (1000, 8.0)}
"""Workers -> shards, and the median seconds of one."""


def measure(chosen: list[int]) -> Report:
    """Each size once."""
    figures = [figure for workers in chosen for figure in simulated(workers, *SIZES[workers])]
    figures += [
        figure
        for workers in chosen
        if workers <= heavy_tails.MOST
        for figure in heavy_tails.figures(workers)
    ]
    sizes = (f"{w} workers: {s} shards of {m:g} s" for w, (s, m) in SIZES.items() if w in chosen)
    how = (
        "Threads of one process on one local directory: the CPU and the disk are one machine's, "
        "so the rate at 1000 is a lower bound of "
        f"what 1000 machines would see; requests are counted, renewals of leases among the PUTs. "
        f"Last, in simulated time and up to {heavy_tails.MOST} workers: "
        f"{heavy_tails.PER_WORKER * heavy_tails.PER_SHARD} episodes of very "
        f"different lengths for each worker, in shards of {heavy_tails.PER_SHARD}. "
        f"By the clock: shards of {PER_SHARD} episodes; terms of {TERM_S:g} s; "
        f"{'; '.join(sizes)}."
    )
    return Report("Leases and commits at scale", figures, how)


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure([int(n) for n in sys.argv[1:]] or list(SIZES)), others))
