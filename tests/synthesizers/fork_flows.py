"""Flows on the fork, and what a ledger holds of them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from tests.synthesizers.fork_world import NAME, POLICY

Row = tuple[str, int, float | None, dict[str, Any]]


def fork_flow(
    stage: Mapping[str, Any] | None = None, tasks: int = 6, after: Any = (), **world: Any
) -> Flow:
    """Trials that take the left way, one per task; their steps tested."""
    content: dict[str, Any] = {
        "name": "fork",
        "seed": 3,
        "env": {"name": NAME, "tasks": tasks, "left": 0, "right": 100, **world},
        "models": {"explorer": {"policy": POLICY}},
        "stages": [{"rollout": {"trials": 1}}, {"critical_step": dict(stage or {})}, *after],
    }
    return Flow.model_validate(content)


def rows(url: str, metric: str = "critical_step", where: str = "") -> list[Row]:
    with connect(StoredLedger(url)) as connection:
        sql = (
            f"SELECT subject_id, turn, value, detail FROM scores WHERE metric = '{metric}' "
            f"{where} ORDER BY subject_id, turn, detail"
        )
        return [
            (i, t, v, msgspec.json.decode(d)) for i, t, v, d in connection.execute(sql).fetchall()
        ]


def outcomes(url: str) -> dict[str, str]:
    """Of every trajectory in the ledger, evidence that no view of the flow shows too."""
    with connect(StoredLedger(url)) as connection:
        return dict(
            connection.execute("SELECT trajectory_id, outcome FROM trajectories_all").fetchall()
        )


def evidence(url: str) -> dict[str, str]:
    """Continuations of step tests: id -> slot."""
    with connect(StoredLedger(url)) as connection:
        sql = (
            "SELECT trajectory_id, slot_id FROM trajectories_all WHERE synthesizer = "
            "'critical_step'"
        )
        return dict(connection.execute(sql).fetchall())
