"""Trajectories as they may leave the machine: what filters found to be secret or personal taken out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import duckdb

from schemas.task import Task
from schemas.trajectory import Trajectory
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.run.with_tasks import with_tasks
from synth.scan.places import texts
from synth.scan.redaction import REDACTED, Finding, findings_of, redacted, redacted_goal

CHUNK = 500


def without_findings(ledger: Ledger, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
    """Each trajectory, redacted by the current flow's decisions; a few hundred in memory at a time."""
    waiting = iter(trajectories)
    with connect(ledger) as connection:
        while chunk := list(islice(waiting, CHUNK)):
            yield from of_chunk(connection, chunk)


def of_chunk(connection: "duckdb.DuckDBPyConnection", chunk: Sequence[Trajectory]) -> Iterator[Trajectory]:
    """The same for trajectories that are in memory."""
    sql = "SELECT trajectory_id, detail FROM decisions WHERE reason = ? AND trajectory_id IN (SELECT unnest(?)) ORDER BY ALL"
    found = _findings(connection, sql, [t.trajectory_id for t in chunk])
    return (redacted(trajectory, found.get(trajectory.trajectory_id, ())) for trajectory in chunk)


def tasks_without_findings(ledger: Ledger, tasks: Mapping[str, Task]) -> dict[str, Task]:
    """Tasks by id, their goals redacted by the decisions on any trial of them."""
    sql = (
        "SELECT t.task_id, d.detail FROM decisions d JOIN trajectories t USING (trajectory_id) WHERE d.reason = ? "
        "AND t.task_id IN (SELECT unnest(?)) ORDER BY trajectory_id, d.detail"
    )
    with connect(ledger) as connection:
        found = _findings(connection, sql, list(tasks))
    return {identity: redacted_goal(task, found.get(identity, ())) for identity, task in tasks.items()}


def with_redacted_tasks(ledger: Ledger, trajectories: Iterable[Trajectory]) -> Iterator[tuple[Trajectory, Task | None]]:
    """As `with_tasks`, for what leaves the machine: each trajectory as given, and its task with a redacted goal."""
    waiting = iter(with_tasks(ledger, trajectories))
    while chunk := list(islice(waiting, CHUNK)):
        clean = tasks_without_findings(ledger, {task.task_id: task for _, task in chunk if task is not None})
        yield from ((trajectory, None if task is None else clean[task.task_id]) for trajectory, task in chunk)


def found_values(ledger: Ledger, identities: set[str]) -> dict[str, dict[str, str]]:
    """By trajectory: each value that the current flow's decisions take out of it, and what stands there instead."""
    sql = "SELECT trajectory_id, detail FROM decisions WHERE reason = ? AND trajectory_id IN (SELECT unnest(?)) ORDER BY ALL"
    with connect(ledger) as connection:
        found = _findings(connection, sql, sorted(identities))
    values: dict[str, dict[str, str]] = {}
    for trajectory in ledger.trajectories(set(found)) if found else ():
        places = dict(texts(trajectory))
        values[trajectory.trajectory_id] = {
            places[one.place][one.start : one.end]: one.stand_in for one in found[trajectory.trajectory_id] if one.place in places
        }
    return values


def _findings(connection: "duckdb.DuckDBPyConnection", sql: str, identities: list[str]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for identity, detail in connection.execute(sql, [REDACTED, identities]).fetchall():
        kept = json.loads(detail) if detail else {}
        if "findings" in kept:  # another filter may give the same reason for something else
            found.setdefault(identity, []).extend(findings_of(kept))
    return found
