"""Flows that inject failures, and what their ledgers hold then."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from tests.flow_files import run_flow

EXPERT: dict[str, Any] = {"policy": "expert", "profiles": "mixed"}
WAVERING: dict[str, Any] = {
    "policy": "mixture",
    "of": [
        {"policy": "expert", "profiles": "mixed", "weight": 0.98},
        {"policy": "random", "weight": 0.02},
    ],
}
"""An expert that does something at random in one turn of fifty: both outcomes are possible from any
state.
"""


def injection_flow(
    stage: Mapping[str, Any] | None = None, rollout: Mapping[str, Any] | None = None, **changes: Any
) -> Flow:
    """Storefront, its expert with misconceptions, two trials of four tasks, mistakes by rules."""
    content: dict[str, Any] = {
        "name": "failures",
        "seed": 7,
        "env": {"name": "storefront", "tasks": 4},
        "models": {"explorer": EXPERT},
        "stages": [
            {"rollout": {"trials": 2, **(rollout or {})}},
            {"failure_injection": {"strategies": {"rule": 1}, **(stage or {})}},
        ],
    }
    return Flow.model_validate(content | changes)


def injected(folder: Path, flow: Flow) -> Mapping[str, Any]:
    """Runs a flow and gives the stage's report."""
    _, reports, _ = run_flow(flow, str(folder))
    return reports["failure_injection"]


def scores(folder: Path, metric: str) -> list[dict[str, Any]]:
    """The rows of a metric, with their details as objects."""
    with connect(StoredLedger(str(folder))) as connection:
        sql = "SELECT subject_id, turn, value, detail FROM scores_all WHERE metric = ? ORDER BY ALL"
        rows = connection.execute(sql, [metric]).fetchall()
    return [
        {"subject_id": subject, "turn": turn, "value": value, "detail": json.loads(detail)}
        for subject, turn, value, detail in rows
    ]


def asked(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The answer to one question."""
    with connect(StoredLedger(str(folder))) as connection:
        return connection.execute(sql).fetchall()
