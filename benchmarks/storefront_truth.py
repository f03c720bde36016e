"""Storefront: the true labels of a run's trajectories, beside its ledger and in no view of it.

Run: `python -m benchmarks.storefront_truth RUN` writes
RUN/truth/{episodes,writes,denials,reads}.parquet and prints the shares.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.truth.justification import WriteLabel
from benchmarks.truth.monitor import DenialLabel, ReadTruth, TruthLabels, truth_of
from synth.ledger.ledger import StoredLedger
from synth.schemas.errors import SynthError

_EPISODE = (
    "trajectory_id",
    "task_id",
    "passed",
    "passed_outcome",
    "lucky",
    "lucky_outcome",
    "breaches",
)
_SCHEMAS = {
    "episodes": pa.schema(
        [
            (
                name,
                pa.list_(pa.string())
                if name == "breaches"
                else pa.string()
                if name.endswith("_id")
                else pa.bool_(),
            )
            for name in _EPISODE
        ]
    ),
    "writes": pa.schema(
        [
            ("trajectory_id", pa.string()),
            ("turn", pa.int64()),
            ("tool", pa.string()),
            ("label", pa.string()),
            ("what", pa.string()),
            ("k", pa.int64()),
            ("seen", pa.int64()),
        ]
    ),
    "denials": pa.schema(
        [
            ("trajectory_id", pa.string()),
            ("turn", pa.int64()),
            ("request", pa.int64()),
            ("rule", pa.string()),
            ("grounded", pa.bool_()),
        ]
    ),
    "reads": pa.schema(
        [
            ("trajectory_id", pa.string()),
            ("turn", pa.int64()),
            ("tool", pa.string()),
            ("label", pa.string()),
        ]
    ),
}


async def labelled(ledger: StoredLedger) -> list[TruthLabels]:
    """The labels of every storefront trajectory that re-executes as it was recorded; the others are
    named on standard error.
    """
    tasks = ledger.tasks({trajectory.task_id for trajectory in ledger.trajectories()})
    found = []
    for trajectory in ledger.trajectories():
        if trajectory.env != "storefront" or trajectory.task_id not in tasks:
            continue
        try:
            found.append(await truth_of(tasks[trajectory.task_id], trajectory))
        except SynthError as error:
            print(f"left out: {error}", file=sys.stderr)
    return found


def tables(labels: Sequence[TruthLabels]) -> dict[str, pa.Table]:
    """The labels as four tables; a turn's labels stand in the order of its calls."""
    rows: dict[str, list[dict[str, object]]] = {
        "episodes": [{name: getattr(truth, name) for name in _EPISODE} for truth in labels],
        **{name: list(_rows(labels, name)) for name in ("writes", "denials", "reads")},
    }
    return {
        name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in _SCHEMAS.items()
    }


def _rows(labels: Sequence[TruthLabels], name: str) -> Iterator[dict[str, object]]:
    for truth in labels:
        entries: Sequence[WriteLabel | DenialLabel | ReadTruth] = getattr(truth, name)
        for entry in entries:
            yield {"trajectory_id": truth.trajectory_id, **msgspec.structs.asdict(entry)}


def shares(labels: Sequence[TruthLabels]) -> dict[str, float]:
    """Passes, passes by outcome alone, lucky ones among each, and the share of each label of
    writes, denials and reads.
    """
    passed, outcome = sum(t.passed for t in labels), sum(t.passed_outcome for t in labels)
    found = {
        "passed": passed / len(labels),
        "passed by outcome": outcome / len(labels),
        "lucky among passed": sum(t.lucky for t in labels) / max(passed, 1),
        "lucky among passed by outcome": sum(t.lucky_outcome for t in labels) / max(outcome, 1),
        "with a breach of process among passed by outcome": sum(
            t.passed_outcome and bool(t.breaches) for t in labels
        )
        / max(outcome, 1),
    }
    counted: dict[str, Counter[str]] = {
        "writes": Counter(w.label for t in labels for w in t.writes),
        "denials": Counter(
            "grounded" if d.grounded else "ungrounded" for t in labels for d in t.denials
        ),
        "reads": Counter(r.label for t in labels for r in t.reads),
    }
    for kind, counts in counted.items():
        found |= {
            f"{kind}: {label}": count / counts.total() for label, count in sorted(counts.items())
        }
    return found


def write(run: str) -> list[TruthLabels]:
    """Writes RUN/truth/*.parquet; files of an earlier call are replaced."""
    labels = asyncio.run(labelled(StoredLedger(run)))
    folder = Path(run) / "truth"
    folder.mkdir(exist_ok=True)
    for name, table in tables(labels).items():
        pq.write_table(table, folder / f"{name}.parquet")
    return labels


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m benchmarks.storefront_truth RUN")
    truths = write(sys.argv[1])
    print(f"{len(truths)} trajectories")
    for shown, share in (shares(truths) if truths else {}).items():
        print(f"{shown:52} {share:6.3f}")
