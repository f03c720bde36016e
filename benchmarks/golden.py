"""`python -m benchmarks.golden`: what one quickstart writes, as digests that a change of structure
must leave alone.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.command_line import ROOT, SYNTH, ended
from synth.ledger.ledger import StoredLedger
from synth.ledger.tables import TABLES
from synth.ledger.views import connect

RECORD = ROOT / "benchmarks" / "golden.json"
OF_THE_CLOCK = ("created_at", "latency_ms")
"""Columns that differ from run to run."""


def golden(folder: Path) -> dict[str, str]:
    """Runs the quickstart in a new folder: name of a table or of a dataset's file -> rows and
    digest.
    """
    run = folder / "run"
    ended((*SYNTH, "run", "configs/quickstart.yaml", "--run-dir", str(run)), folder / "state")
    return {**dict(_tables(run)), **dict(_datasets(run))}


def differences(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """Says, a line each, which digests differ, and which are on one side alone."""
    names = sorted({*found, *expected})
    return [
        f"{name}: {found.get(name, 'absent')}, expected {expected.get(name, 'absent')}"
        for name in names
        if found.get(name) != expected.get(name)
    ]


def _tables(run: Path) -> Iterator[tuple[str, str]]:
    """Digests each table's rows, sorted, without the columns of the clock."""
    connection = connect(StoredLedger(str(run)))
    for name, schema in TABLES.items():
        columns = [f'"{field.name}"' for field in schema if field.name not in OF_THE_CLOCK]
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM {name}_all").fetchall()
        lines = sorted(json.dumps(row, ensure_ascii=False, default=str) for row in rows)
        yield name, f"{len(rows)} rows {_digest(chr(10).join(lines).encode())}"


def _datasets(run: Path) -> Iterator[tuple[str, str]]:
    """Digests each file of each dataset as it is."""
    for path in sorted((run / "datasets").rglob("*")):
        if path.is_file():
            yield (
                str(path.relative_to(run)),
                f"{path.stat().st_size} bytes {_digest(path.read_bytes())}",
            )


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()[:16]


def main(*, record: bool) -> int:
    """Plays the quickstart twice, compares the two, then both with the record. Exit code 1 where
    anything differs.
    """
    with tempfile.TemporaryDirectory() as place:
        first, second = golden(Path(place, "first")), golden(Path(place, "second"))
    unstable = differences(second, first)
    if unstable:
        print("two runs of the same state differ:", *unstable, sep="\n  ")
        return 1
    if record:
        RECORD.write_text(json.dumps(first, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"recorded {len(first)} digests in {RECORD.relative_to(ROOT)}")
        return 0
    changed = differences(first, json.loads(RECORD.read_text(encoding="utf-8")))
    print(
        "differs from the record:" if changed else f"golden: all {len(first)} digests as recorded",
        *changed,
        sep="\n  ",
    )
    return 1 if changed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.golden",
        description=__doc__,
        epilog="Example: python -m benchmarks.golden; after a change that is meant: --record, and "
        "name it in the commit",
    )
    parser.add_argument(
        "--record", action="store_true", help="write the digests instead of comparing them"
    )
    sys.exit(main(record=parser.parse_args().record))
