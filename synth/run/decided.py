"""Trajectories beside the verdicts that stand on them, a few hundred in memory at a time."""

from collections.abc import Iterator, Mapping

import duckdb
import msgspec

from schemas.trajectory import Trajectory
from schemas.verdict import Verdict
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.run.redactions import of_chunk
from synth.selection.recovery_view import MASKS

CHUNK = 500


def decided(ledger: Ledger) -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
    """The current flow's valid trajectories in ledger order, redacted where a filter found secrets, each with its verdicts by filter.

    Of the verdicts' details those are given that name turns without loss.
    """
    identities = ledger.state.current_valid()
    wanted = set(identities)
    with connect(ledger) as connection:
        chunk: list[Trajectory] = []
        for trajectory in ledger.trajectories(wanted):
            chunk.append(trajectory)
            if len(chunk) == CHUNK:
                yield from _with_verdicts(connection, chunk)
                chunk = []
        yield from _with_verdicts(connection, chunk)


def _with_verdicts(connection: duckdb.DuckDBPyConnection, chunk: list[Trajectory]) -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
    found: dict[str, dict[str, Verdict]] = {}
    masks = f"json_extract_string(detail, '$.{MASKS}')"
    sql = f"SELECT trajectory_id, filter, keep, reason, score, {masks} FROM decisions WHERE trajectory_id IN (SELECT unnest(?))"
    for identity, name, keep, reason, score, masked in connection.execute(sql, [[t.trajectory_id for t in chunk]]).fetchall():
        detail = {} if masked is None else {MASKS: msgspec.json.decode(masked)}
        found.setdefault(identity, {})[name] = Verdict(keep, reason, score, detail)
    for trajectory in of_chunk(connection, chunk):
        yield trajectory, found.get(trajectory.trajectory_id, {})
