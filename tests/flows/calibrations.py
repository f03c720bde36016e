"""Flows that ask for a pass rate."""

from typing import Any

from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow
from tests.flows.leveled_world import NAME

HARD_OF_HEARING = {"policy": "tests.flows.leveled_world:hard_of_hearing"}
EPISODES = 60


def flow(target: float = 0.5, episodes: int = EPISODES, **changes: Any) -> Flow:
    content: dict[str, Any] = {
        "env": {
            "name": NAME,
            "tasks": 3,
            "difficulty": {"target_pass_rate": target, "against": "explorer", "episodes": episodes},
        },
        "models": {"explorer": HARD_OF_HEARING},
        "stages": [{"rollout": {"trials": 8}}, {"filter": ["solved"]}],
    }
    return echo_flow(**(content | changes))


def played(url: str) -> int:
    ((count,),) = query(
        StoredLedger(url), "SELECT count(*) FROM trajectories_all WHERE synthesizer = 'calibration'"
    ).fetchall()
    return int(count)
