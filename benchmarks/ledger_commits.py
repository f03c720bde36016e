"""StoredLedger: trajectories of ten turns committed per second, next to what the same bytes cost
without a ledger.

Run: `python -m benchmarks.ledger_commits`
"""

import io
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.alternation import medians
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import TURNS, recorded_episodes
from synth.ledger import StageRef, StoredLedger
from synth.ledger.tables import rows
from synth.schemas.trajectory import Trajectory

SHARD = 200
REF = StageRef("import", "benchmark")
"""The one stage whose shards are seen without a flow."""

Shards = Sequence[Sequence[Trajectory]]


def committed_per_second(shards: Shards, folder: Path) -> float:
    """`StoredLedger.commit` shard by shard: columns, parquet, digest, fsync of files and folders,
    manifest line.
    """
    ledger = StoredLedger(_fresh(folder), create=True)
    started = perf_counter()
    for shard in shards:
        ledger.commit(REF, trajectories=shard)
    return _count(shards) / (perf_counter() - started)


def read_per_second(url: str, count: int) -> float:
    """`StoredLedger.trajectories`: parquet back to structs, digests compared."""
    ledger = StoredLedger(url)
    started = perf_counter()
    found = sum(1 for _ in ledger.trajectories())
    if found != count:
        raise RuntimeError(f"{found} trajectories were read, {count} written")
    return count / (perf_counter() - started)


def tables_per_second(tables: Sequence[Sequence[pa.Table]], folder: Path, count: int) -> float:
    """Tables that stand in memory already, compressed as the ledger does, written and fsynced."""
    out = Path(_fresh(folder))
    started = perf_counter()
    for number, shard in enumerate(tables):
        for place, table in enumerate(shard):
            buffer = io.BytesIO()
            pq.write_table(
                table, buffer, compression="zstd", compression_level=1, row_group_size=20_000
            )
            _write(out / f"{number}-{place}.parquet", buffer.getvalue())
    return count / (perf_counter() - started)


def lines_per_second(records: Sequence[Sequence[Any]], folder: Path, count: int) -> float:
    """Dicts that stand in memory already, as JSON lines by the standard library: one file and one
    fsync per shard.
    """
    out = Path(_fresh(folder))
    started = perf_counter()
    for number, shard in enumerate(records):
        _write(
            out / f"{number}.jsonl", "".join(json.dumps(record) + "\n" for record in shard).encode()
        )
    return count / (perf_counter() - started)


def measure(shards: int = 10, rounds: int = 5) -> Report:
    """Commits `shards` shards of 200 in each round, beside both baselines."""
    written = [recorded_episodes(SHARD, seed) for seed in range(shards)]
    count = _count(written)
    tables = [
        list(rows.shard_tables("s", "k", {"trajectories": shard}).values()) for shard in written
    ]
    records = [[msgspec.to_builtins(trajectory) for trajectory in shard] for shard in written]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = _fresh(folder)
        ledger = StoredLedger(url, create=True)
        for shard in written:
            ledger.commit(REF, trajectories=shard)
        stored = sum(
            file.bytes for shard_line in ledger.state.shards for file in shard_line.files.values()
        )
        found = medians(
            {
                "commit": lambda: committed_per_second(written, folder),
                "tables": lambda: tables_per_second(tables, folder, count),
                "lines": lambda: lines_per_second(records, folder, count),
                "read": lambda: read_per_second(url, count),
            },
            rounds,
        )
    as_lines = sum(len(json.dumps(record)) + 1 for shard in records for record in shard)
    return Report(
        "StoredLedger commits",
        (
            Figure(
                f"trajectories of {TURNS} turns committed",
                found["commit"],
                "/s",
                Target("at least", 2000),
            ),
            Figure("ready tables written as parquet, fsynced", found["tables"], "/s"),
            Figure("ready dicts written as JSON lines, fsynced", found["lines"], "/s"),
            Figure("ledger / ready tables", found["commit"] / found["tables"], "x"),
            Figure("ledger / JSON lines", found["commit"] / found["lines"], "x"),
            Figure("trajectories read back", found["read"], "/s"),
            Figure("stored per trajectory", stored / count, "bytes"),
            Figure("the same as JSON lines", as_lines / count, "bytes"),
        ),
        f"{shards} shards of {SHARD} per round, medians of {rounds} rounds in turn, on the disk "
        f"of {tempfile.gettempdir()}.",
    )


def _count(shards: Shards) -> int:
    return sum(len(shard) for shard in shards)


def _fresh(folder: Path) -> str:
    return tempfile.mkdtemp(dir=folder)


def _write(path: Path, blob: bytes) -> None:
    with path.open("xb") as file:
        file.write(blob)
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
