"""What tests of reverse task synthesis have in common: flows on the shelf world, walks made of
given turns.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synth.ledger import StoredLedger
from synth.schemas.environment import AgentTurn
from synth.schemas.flow import Flow
from synth.schemas.task import Task
from synth.synthesizers.reverse.exploration import Walk, played
from tests.flow_files import run_flow
from tests.synthesizers.reverse.shelf_world import NAME, SPEC, Shelf, ShelfConfig


def shelf_flow(
    *,
    world: str = NAME,
    stage: dict[str, Any] | None = None,
    later: Sequence[Any] = (),
    **settings: Any,
) -> Flow:
    """Explorations of a shelf, in three shards of two."""
    content = {
        "name": "shelf",
        "seed": 3,
        "env": {"name": world, "tasks": 0, **settings},
        "models": {"explorer": {"policy": "expert"}},
        "stages": [
            {"reverse_task": {"explorations": 6, "shard": 2, "steps": 12} | (stage or {})},
            *later,
        ],
    }
    return Flow.model_validate(content)


def tasks_of(url: Path) -> dict[str, Task]:
    """The current flow's tasks."""
    ledger = StoredLedger(str(url))
    return ledger.tasks(list(ledger.task_ids()))


def run_shelf(url: Path, flow: Flow) -> tuple[dict[str, Any], dict[str, Task]]:
    """The stage's report and the tasks."""
    _, reports, _ = run_flow(flow, str(url))
    return dict(reports["reverse_task"]), tasks_of(url)


def walk(*turns: AgentTurn, **config: Any) -> tuple[Shelf, Walk]:
    """A shelf and a walk through it that takes these turns."""
    shelf = Shelf(ShelfConfig(**config))
    return shelf, asyncio.run(played(shelf, turns, zones=SPEC.facts))
