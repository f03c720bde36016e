"""What a run holds, read from its disk: the committed rows by the bytes that hold them, and the
rows of the current flow by slot.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow.parquet as pq

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.canonical import digest

Rows = Mapping[str, Counter[str]]

_BY_SLOT = {
    "tasks": "SELECT DISTINCT * EXCLUDE (stage_key) FROM tasks",
    "trajectories": "SELECT t.* EXCLUDE (trajectory_id, attempt, parent_id, created_at, "
    "stage_key), p.slot_id AS parent "
    "FROM trajectories t LEFT JOIN trajectories_all p ON p.trajectory_id = t.parent_id WHERE "
    "t.fault IS NULL",
    "turns": "SELECT t.slot_id, x.* EXCLUDE (trajectory_id, latency_ms, stage_key) FROM turns x "
    "JOIN trajectories t USING (trajectory_id) "
    "WHERE t.fault IS NULL",
    "decisions": "SELECT t.slot_id, x.* EXCLUDE (trajectory_id, stage_key) FROM decisions x JOIN "
    "trajectories t USING (trajectory_id) "
    "WHERE t.fault IS NULL",
    "scores": "SELECT coalesce(t.slot_id, x.subject_id) AS subject, x.* EXCLUDE (subject_id, "
    "stage_key) FROM scores x "
    "LEFT JOIN trajectories_all t ON t.trajectory_id = x.subject_id",
    "nodes": "SELECT * EXCLUDE (trajectory_id, stage_key) FROM nodes",
    "edges": "SELECT * EXCLUDE (stage_key) FROM edges",
}
_IDS = ("trajectory_id", "parent_id")
_TWICE = {
    "two valid attempts of a slot": "SELECT slot_id FROM trajectories WHERE fault IS NULL "
    "GROUP BY 1 HAVING count(*) > 1",
    "a trajectory": "SELECT trajectory_id FROM trajectories_all GROUP BY 1 HAVING count(*) > 1",
    "a turn": "SELECT trajectory_id, turn FROM turns_all GROUP BY ALL HAVING count(*) > 1",
    "a decision": "SELECT trajectory_id, filter FROM decisions GROUP BY ALL HAVING count(*) > 1",
    "a task": "SELECT task_id FROM tasks GROUP BY 1 HAVING count(*) > 1",
    "a node": "SELECT task_id, node, population, level, trajectory_id, turn FROM nodes "
    "GROUP BY ALL HAVING count(*) > 1",
}


class Holding(msgspec.Struct, frozen=True):
    """Committed rows by file, with the digest of the bytes that lie there now, and of each line of
    the manifest.
    """

    files: dict[str, tuple[int, str]]
    lines: dict[str, str]

    @property
    def records(self) -> int:
        """Rows of all tables."""
        return sum(rows for rows, _ in self.files.values())

    def lost(self, later: "Holding") -> int:
        """Rows of files that are no longer named, not there, or other than they were; a manifest
        line counts as one row.
        """
        gone = sum(
            rows
            for path, (rows, stood) in self.files.items()
            if later.files.get(path, (0, ""))[1] != stood
        )
        return gone + sum(later.lines.get(path) != stood for path, stood in self.lines.items())


def held(url: str) -> Holding:
    """The committed rows of a run; none where it does not stand yet."""
    ledger = StoredLedger(url, may_be_empty=True)
    files = {}
    for shard in ledger.state.shards:
        for file in shard.files.values():
            blob = ledger.storage.read(file.path)
            assert digest(blob) == file.digest, (
                f"{file.path} holds other bytes than those that were committed"
            )
            files[file.path] = (file.rows, file.digest)
    lines = {
        f"manifest/{n:08d}": digest(ledger.storage.read(f"manifest/{n:08d}"))
        for n in range(ledger.state.lines)
    }
    return Holding(files, lines)


def twice(url: str) -> int:
    """Rows that stand in a view more than once, of whatever kind."""
    with connect(StoredLedger(url)) as connection:
        return sum(len(connection.execute(question).fetchall()) for question in _TWICE.values())


def rows(url: str) -> Rows:
    """The current flow's rows by table and dataset, invalid attempts left out, slots in the place
    of trajectory ids, without times.
    """
    with connect(StoredLedger(url)) as connection:
        found = {
            table: Counter(map(repr, _plain(connection, question)))
            for table, question in _BY_SLOT.items()
        }
    for folder in sorted(Path(url, "datasets").glob("*")):
        exported = [
            row
            for path in sorted(folder.glob("*.parquet"))
            for row in pq.read_table(path).to_pylist()
        ]
        found[folder.name] = Counter(
            repr({name: value for name, value in row.items() if name not in _IDS})
            for row in exported
        )
    return found


def _plain(connection: duckdb.DuckDBPyConnection, question: str) -> list[tuple[Any, ...]]:
    return connection.execute(question).fetchall()


def outcomes(url: str) -> tuple[dict[str, set[str]], Counter[str]]:
    """The outcomes of the valid attempts by slot, and how often each fault ended an attempt."""
    with connect(StoredLedger(url)) as connection:
        valid: dict[str, set[str]] = {}
        for slot, outcome in connection.execute(
            "SELECT slot_id, outcome FROM trajectories WHERE fault IS NULL"
        ).fetchall():
            valid.setdefault(slot, set()).add(outcome)
        faults = Counter(
            dict(
                connection.execute(
                    "SELECT fault, count(*) FROM trajectories WHERE fault IS NOT NULL GROUP BY 1"
                ).fetchall()
            )
        )
        labelled = (
            "SELECT count(*) FROM trajectories_all WHERE fault IS NOT NULL AND (reward IS NOT "
            "NULL OR outcome <> 'invalid')"
        )
        assert connection.execute(labelled).fetchall() == [(0,)], (
            "a fault has a reward or an outcome of its own"
        )
    return valid, faults


def mislabelled(url: str, undisturbed: str, expected: frozenset[str] = frozenset()) -> int:
    """Attempts whose outcome is another one than the undisturbed run gave their slot, and those
    that ended in a fault not `expected`.
    """
    valid, faults = outcomes(url)
    truth, _ = outcomes(undisturbed)
    return sum(found != truth.get(slot) for slot, found in valid.items()) + sum(
        n for fault, n in faults.items() if fault not in expected
    )
