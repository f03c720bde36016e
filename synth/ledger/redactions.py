"""Trajectories and tasks as they may leave the machine: what filters found to be secret or personal
taken out.

One whose findings cannot be taken out is left out and noted (`synth.set_aside`), never given as it
is.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import LedgerConnection, connect
from synth.ledger.with_tasks import batches, with_tasks
from synth.schemas import RowError, Task, Trajectory
from synth.set_aside import SetAside
from synth.text.redaction.findings import (
    GOAL,
    REDACTED,
    TASK,
    RedactionFinding,
    redacted,
    redacted_task,
    values_of,
)
from synth.text.redaction.lawful import require_lawful

CHUNK = 500
_FOUND = (
    "SELECT trajectory_id, reason, detail FROM decisions WHERE contains(detail, '\"findings\"')"
)
"""Decisions that say where something stands: also those that drop the row for it, which an export
may be told not to honour.
"""
_OF_TASKS = f"""
SELECT t.task_id, d.reason, d.detail
FROM ({_FOUND}) AS d JOIN trajectories AS t USING (trajectory_id)
WHERE t.task_id IN (SELECT unnest(?))
ORDER BY trajectory_id, d.detail
"""


class RedactionsFound(msgspec.Struct):
    """Findings by trajectory or task, and those whose decisions do not say where they stand."""

    findings: dict[str, list[RedactionFinding]] = {}
    unreadable: dict[str, RowError] = {}

    def of(self, identity: str) -> Sequence[RedactionFinding]:
        """Raises `RowError` where they cannot be read."""
        if identity in self.unreadable:
            raise self.unreadable[identity]
        return self.findings.get(identity, ())


def findings_of(detail: Mapping[str, Any]) -> tuple[RedactionFinding, ...]:
    """The findings in the detail of a decision with the reason `redacted`. Raises `RowError` where
    they cannot be read.
    """
    try:
        return msgspec.convert(detail["findings"], tuple[RedactionFinding, ...])
    except (KeyError, msgspec.ValidationError) as error:
        raise RowError(
            "unreadable_findings",
            f"its decision does not say where the findings stand: {error}",
            "decision",
        ) from error


def found_in_decisions(connection: LedgerConnection, identities: Sequence[str]) -> RedactionsFound:
    """What the current flow's decisions found in these trajectories."""
    return _read(
        connection, f"{_FOUND} AND trajectory_id IN (SELECT unnest(?)) ORDER BY ALL", identities
    )


def scanned(connection: LedgerConnection) -> bool:
    """Whether any filter of the current flow has looked for what is secret: what it measured, or
    decided, lists findings, if only none.
    """
    sql = """SELECT 1 FROM (SELECT detail FROM scores UNION ALL SELECT detail FROM decisions)
        WHERE json_type(detail, '$.findings') = 'ARRAY' LIMIT 1"""
    return connection.execute(sql).fetchall() != []


def without_findings(
    ledger: StoredLedger, trajectories: Iterable[Trajectory], aside: SetAside
) -> Iterator[Trajectory]:
    """Each trajectory, redacted by the current flow's decisions; a few hundred in memory at a
    time.
    """
    with connect(ledger) as connection:
        for chunk in batches(trajectories, CHUNK):
            yield from of_chunk(connection, chunk, aside)


def of_chunk(
    connection: LedgerConnection, chunk: Sequence[Trajectory], aside: SetAside
) -> Iterator[Trajectory]:
    """The same for trajectories that are in memory."""
    found = found_in_decisions(connection, [t.trajectory_id for t in chunk])

    def clean(trajectory: Trajectory) -> Trajectory:
        changed = redacted(trajectory, found.of(trajectory.trajectory_id))
        require_lawful(trajectory, changed)
        return changed

    return aside.each(chunk, lambda trajectory: trajectory.trajectory_id, clean)


def tasks_without_findings(
    ledger: StoredLedger, tasks: Mapping[str, Task], aside: SetAside, *, played: bool = False
) -> dict[str, Task]:
    """Tasks by id, redacted by the decisions on any trial of them, and as the flow's filter would,
    were it shown tasks.

    `played`: they are to be set up and checked again, so what agents are not shown of them cannot
    be changed: with a finding there, or
    any where the filter drops rows, a task is left out.
    """
    flow = FlowScan(ledger)
    with connect(ledger) as connection:
        found = _read(connection, _OF_TASKS, list(tasks))

    def clean(task: Task) -> Task:
        own = flow.scan.of_task(task) if flow.scan is not None else ()
        hidden = [one for one in own if one.place == TASK]
        if played and (hidden or (flow.drops and own)):
            raise RowError(
                "secret_in_task",
                f"task {task.task_id}: its world needs what may not leave",
                TASK if hidden else GOAL,
            )
        return redacted_task(task, [*found.of(task.task_id), *own])

    return {
        task.task_id: task for task in aside.each(tasks.values(), lambda task: task.task_id, clean)
    }


def with_redacted_tasks(
    ledger: StoredLedger, trajectories: Iterable[Trajectory], aside: SetAside
) -> Iterator[tuple[Trajectory, Task | None]]:
    """As `with_tasks`, for what leaves the machine: each trajectory as given, and its task
    redacted.
    """
    for chunk in batches(with_tasks(ledger, trajectories), CHUNK):
        tasks = {task.task_id: task for _, task in chunk if task is not None}
        of_tasks = SetAside()
        clean = tasks_without_findings(ledger, tasks, of_tasks)
        for trajectory, task in chunk:
            if task is not None and task.task_id not in clean:
                aside.add(trajectory.trajectory_id, of_tasks.errors[task.task_id])
            else:
                yield trajectory, None if task is None else clean[task.task_id]


def found_values(ledger: StoredLedger, identities: set[str]) -> dict[str, dict[str, str]]:
    """By trajectory: each value that the current flow's decisions take out of it, and what stands
    there instead.

    Of a trajectory whose findings cannot be read there are none: it is set aside where rows are
    made.
    """
    with connect(ledger) as connection:
        found = found_in_decisions(connection, sorted(identities)).findings
    values: dict[str, dict[str, str]] = {identity: {} for identity in found}
    unread = SetAside()
    for trajectory, task in with_tasks(ledger, ledger.trajectories(values) if values else ()):
        identity, goal = trajectory.trajectory_id, "" if task is None else task.goal
        pairs = unread.tried(identity, partial(_pairs, trajectory, goal, found[identity]))
        values[identity] = pairs or {}
    return values


def _pairs(
    trajectory: Trajectory, goal: str, findings: Sequence[RedactionFinding]
) -> dict[str, str]:
    return {value: finding.stand_in for value, finding in values_of(trajectory, goal, findings)}


def _read(connection: LedgerConnection, sql: str, identities: Sequence[str]) -> RedactionsFound:
    found = RedactionsFound()
    for identity, reason, detail in connection.execute(sql, [list(identities)]).fetchall():
        try:
            kept = json.loads(detail)
            if isinstance(kept, dict) and "findings" in kept:
                found.findings.setdefault(identity, []).extend(findings_of(kept))
        except (RowError, RecursionError, ValueError) as error:
            if reason == REDACTED:  # other filters may call other things findings
                unread = RowError(
                    "unreadable_findings", f"the decision on it cannot be read: {error}", "decision"
                )
                found.unreadable[identity] = error if isinstance(error, RowError) else unread
    return found
