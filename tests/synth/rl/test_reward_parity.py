"""The reward that a trainer gets is the outcome that the ledger holds: on 1,000 stored
trajectories, successes and failures.
"""

import inspect
from collections import Counter
from typing import Any

import pytest

from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.flows.environments import open_env
from synth.ledger.ledger import StoredLedger
from synth.rl.trl import RlEnvironment, environment_factories
from synth.schemas.environment import AgentTurn
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from tests.flow_files import run_flow
from tests.synth.exporters.solved import load

pytestmark = pytest.mark.slow

Stored = tuple[list[Trajectory], dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """What a run of the storefront left in its ledger, and the rows of its `rl` export as
    `datasets` reads them, by task.
    """
    folder = tmp_path_factory.mktemp("parity")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        content = {
            "name": "parity",
            "seed": 11,
            "env": {"name": "storefront", "tasks": 125},
            "models": {"explorer": {"policy": "expert", "profiles": "mixed"}},
            "stages": [{"rollout": {"trials": 8}}],
        }
        run_flow(Flow.model_validate(content), str(folder / "run"))
        ledger = StoredLedger(str(folder / "run"))
        export("rl", ledger, DatasetFolder(folder / "rl"), RowSettings())
        rows = {row["task_id"]: row for row in load(folder / "rl", folder / "cache")}
    return list(ledger.trajectories(set(ledger.state.current_valid()))), rows


def worth(trajectory: Trajectory) -> float:
    return 1.0 if trajectory.outcome is Outcome.SUCCESS else 0.0


@pytest.mark.nightly
def test_the_reward_of_a_thousand_stored_trajectories_played_again_is_their_outcome(
    stored: Stored,
) -> None:
    trajectories, rows = stored
    environment, same = RlEnvironment(open_env), 0
    for trajectory in trajectories:
        environment.reset(rows[trajectory.task_id])
        for turn in trajectory.turns:
            environment.step(AgentTurn(turn.content, turn.tool_calls, turn.thought))
        same += (environment.outcome(), environment.reward()) == (
            trajectory.outcome,
            worth(trajectory),
        )
    counts = Counter(trajectory.outcome for trajectory in trajectories)
    assert (len(trajectories), same) == (1000, 1000)
    assert min(counts[Outcome.SUCCESS], counts[Outcome.FAILURE]) >= 200


@pytest.mark.nightly
def test_calls_one_by_one_as_trl_carries_them_out_give_the_same_reward(stored: Stored) -> None:
    """A turn of several calls is one tick of the world's clock, each call of its own one more: here
    that changes no outcome.
    """
    trajectories, rows = stored
    (factory,) = environment_factories(rows.values(), open_env).values()
    environment, several, same = factory(), 0, 0
    for trajectory in trajectories:
        environment.reset(
            **{
                name: value
                for name, value in rows[trajectory.task_id].items()
                if name != "environment"
            }
        )
        tools = tools_of(environment)
        for call in (call for turn in trajectory.turns for call in turn.tool_calls):
            tools[call.name](**call.parsed())
        several += any(len(turn.tool_calls) > 1 for turn in trajectory.turns)
        same += environment.get_reward() == worth(trajectory)
    assert same == 1000
    assert several >= 100


def tools_of(environment: Any) -> dict[str, Any]:
    """By name, found as TRL finds them."""
    members = [
        name for name, _ in inspect.getmembers(type(environment), predicate=inspect.isfunction)
    ]
    found = [
        getattr(environment, name)
        for name in members
        if not name.startswith("_") and name not in ("reset", "get_reward")
    ]
    return {tool.__name__: tool for tool in found}
