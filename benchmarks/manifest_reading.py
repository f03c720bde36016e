"""Opening a run of many lines, and coming back to one: requests, on a disk and in object storage.

Run: `python -m benchmarks.manifest_reading`
"""

import math
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from synth.ledger import StoredLedger
from synth.ledger.log import manifest_checkpoints
from synth.ledger.log.cursor import Cursor
from synth.ledger.log.manifest import RunLine, ShardLine, SlotRecord, StoredFile
from synth.ledger.storage import Storage

LINES = (2_000, 4_000)
BEHIND = (10, 100, 1_000)
EPISODES = 200
LIST_PAGE = 1000
"""Names in one answer of an object store to a listing."""


def shard_line(number: int) -> ShardLine:
    """A commit of as many episodes as a shard has by default, in two files."""
    files = {
        table: StoredFile(f"{table}/{number:032x}.parquet", EPISODES, 1, "0" * 32)
        for table in ("turns", "trajectories")
    }
    slots = tuple(
        SlotRecord(f"{number:016x}{n:08x}", 0, f"{n:08x}{number:016x}", None)
        for n in range(EPISODES)
    )
    return ShardLine("rollout", "benchmark", files, slots)


def written(storage: Storage, first: int, end: int, cursor: Cursor) -> None:
    """Lines `first` to `end`, with the files that they name, and the packs of them."""
    for number in range(first, end):
        line = shard_line(number) if number else RunLine("benchmark")
        for file in line.files.values() if isinstance(line, ShardLine) else ():
            storage.replace(file.path, b"x")
        cursor.append(line)
        cursor.ahead(cursor.number)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts the requests of every storage: one for each thousand names of a listing."""
    requests: Counter[str] = Counter()
    read, size, names = Storage.read, Storage.size, Storage.names

    def counting_names(self: Storage, folder: str) -> list[str]:
        found = names(self, folder)
        requests["list"] += max(1, math.ceil(len(found) / LIST_PAGE))
        return found

    def counting_read(self: Storage, name: str) -> bytes:
        requests["get"] += 1
        return read(self, name)

    def counting_size(self: Storage, name: str) -> int | None:
        requests["head"] += 1
        return size(self, name)

    Storage.read, Storage.size = counting_read, counting_size  # type: ignore[method-assign]
    Storage.names = counting_names  # type: ignore[method-assign]
    try:
        yield requests
    finally:
        Storage.read, Storage.size, Storage.names = read, size, names  # type: ignore[method-assign]


def grown(url: str, where: str) -> Iterator[Figure]:
    """A run that grows to each number of lines: opened there, and come back to by who was
    behind.
    """
    storage = Storage(url)
    cursor = Cursor(storage)
    cursor.ahead(0)
    for lines in LINES:
        written(storage, cursor.number, lines - sum(BEHIND), cursor)
        for behind in BEHIND:
            reader = StoredLedger(url)
            written(storage, cursor.number, cursor.number + behind, cursor)
            with counted() as requests:
                reader.refresh()
            yield Figure(
                f"{where}, {lines:,} lines: requests of who is {behind:,} behind", requests.total()
            )
        with counted() as requests:
            began = perf_counter()
            found = len(StoredLedger(url).state.shards)
            took_s = perf_counter() - began
        if found != lines - 1:
            raise RuntimeError(f"{found} shards found, {lines - 1} written")
        yield Figure(f"{where}, {lines:,} lines: requests to open", requests.total())
        yield Figure(f"{where}, {lines:,} lines: time to open", took_s, "s")
    packed = sum(
        storage.size(f"{manifest_checkpoints.FOLDER}/{name}") or 0
        for name in storage.names(manifest_checkpoints.FOLDER)
    )
    plain = sum(storage.size(f"manifest/{number:08d}") or 0 for number in range(cursor.number))
    yield Figure(f"{where}: bytes of packs / of lines", packed / plain, "x")


def measure() -> Report:
    """Both kinds of storage once."""
    with tempfile.TemporaryDirectory() as folder:
        figures = [*grown(f"memory://{uuid.uuid4().hex}", "object storage"), *grown(folder, "disk")]
    how = (
        f"Lines are commits of {EPISODES} episodes in two files. Object storage is fsspec's "
        "memory file system, without any network."
    )
    return Report("Reading the manifest", figures, how)


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
