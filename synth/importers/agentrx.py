"""AgentRx labels: `{trajectory_id, failures, root_cause}` per record, about trajectories of another
file (tau-bench form with `index`).

`step_number` is 1-based over messages. A label on a user's message names no turn: it is not forced
onto an agent's step.
"""

from collections.abc import Iterator
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
from synth.importers.tau_bench import AGENTRX


class _Failure(msgspec.Struct):
    failure_id: int | str
    step_number: int
    failure_category: str | None = None
    failed_agent: str | None = None
    step_reason: str | None = None


class _Root(msgspec.Struct, frozen=True):
    failure_id: int | str | None = None
    reason_for_root_cause: str | None = None


class _Labels(msgspec.Struct):
    trajectory_id: int | str
    failures: list[_Failure]
    root_cause: _Root | None = None
    failure_summary: str | None = None


def recognises(value: Any) -> bool:
    """`failures` of a `trajectory_id`."""
    return is_object(value, "trajectory_id", failures=list)


def _labels(record: Record, settings: ImportSettings) -> Entry:
    read = msgspec.convert(record.value, _Labels)

    def marks(turns: tuple[int | None, ...]) -> tuple[ImportedLabel, ...]:
        return tuple(label for one in read.failures for label in _marks(one, read, turns))

    return Labelled(record, f"{AGENTRX}/{read.trajectory_id}", marks)


def _marks(
    failure: _Failure, read: _Labels, turns: tuple[int | None, ...]
) -> Iterator[ImportedLabel]:
    """One label for a failure, and one more where it is the root. Raises `ValueError` for a step
    outside the trajectory.
    """
    at, root = failure.step_number - 1, read.root_cause or _Root()
    if not 0 <= at < len(turns):
        raise ValueError(
            f"failure {failure.failure_id}: step {failure.step_number} of {len(turns)} messages"
        )
    blamed = Blamed(
        message=at,
        category=failure.failure_category,
        agent=failure.failed_agent,
        reason=failure.step_reason,
    )
    yield ImportedLabel("agentrx.failure", 1.0, turns[at], blamed)
    if failure.failure_id == root.failure_id:
        blamed = msgspec.structs.replace(blamed, reason=root.reason_for_root_cause)
        yield ImportedLabel("agentrx.root_cause", 1.0, turns[at], blamed)


FORMAT = by_record(recognises, _labels)
