"""AgentRx labels: `{trajectory_id, failures, root_cause}` per record, about trajectories of another
file (tau-bench form with `index`).

`step_number` is 1-based over messages. A label on a user's message names no turn: it is not forced
onto an agent's step.
"""

from functools import partial
from typing import Any

import msgspec

from synth.importers.records import (
    Blamed,
    Entry,
    ImportedLabel,
    ImportSettings,
    Labelled,
    Record,
    by_record,
    is_object,
)
from synth.importers.research.tau_bench import AGENTRX


class _Failure(msgspec.Struct):
    failure_id: int | str
    step_number: int
    failure_category: str | None = None
    failed_agent: str | None = None
    step_reason: str | None = None


class _Root(msgspec.Struct, frozen=True):
    failure_id: int | str | None = None
    reason_for_root_cause: str | None = None


class _AgentRxLabels(msgspec.Struct):
    trajectory_id: int | str
    failures: list[_Failure]
    root_cause: _Root | None = None


def recognises(value: Any) -> bool:
    """`failures` of a `trajectory_id`."""
    return is_object(value, "trajectory_id", failures=list)


def _read(record: Record, settings: ImportSettings) -> Entry:
    labels = msgspec.convert(record.value, _AgentRxLabels)
    return Labelled(record, f"{AGENTRX}/{labels.trajectory_id}", partial(_marks, labels))


FORMAT = by_record(recognises, _read)


def _marks(labels: _AgentRxLabels, turns: tuple[int | None, ...]) -> tuple[ImportedLabel, ...]:
    """One label per failure, and one more for that which is the root. Raises `ValueError` for a
    step outside the trajectory.
    """
    marks = []
    root = labels.root_cause or _Root()

    for failure in labels.failures:
        at = failure.step_number - 1
        if not 0 <= at < len(turns):
            raise ValueError(
                f"failure {failure.failure_id}: step {failure.step_number} of {len(turns)} messages"
            )

        reasons = {"agentrx.failure": failure.step_reason}
        if failure.failure_id == root.failure_id:
            reasons["agentrx.root_cause"] = root.reason_for_root_cause

        for metric, reason in reasons.items():
            agent, category = failure.failed_agent, failure.failure_category
            blamed = Blamed(message=at, category=category, agent=agent, reason=reason)
            marks.append(ImportedLabel(metric, 1.0, turns[at], blamed))

    return tuple(marks)
