"""The filter `reexecuted`: a trajectory done a second time in a fresh world."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD
from synth.filters.reexecuted import ReexecutedConfig, reexecuted
from synth.ledger import StoredLedger
from synth.schemas.environment import Env
from synth.schemas.errors import ConfigError
from synth.schemas.filtering import Case, Verdict
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from tests.flow_files import echo_flow, run_flow

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trajectory, Task]:
    url = str(tmp_path_factory.mktemp("recorded") / "run")
    run_flow(echo_flow(stages=[{"rollout": {"trials": 1}}]), url)
    ledger = StoredLedger(url)
    trajectory = next(ledger.trajectories())
    return trajectory, ledger.tasks([trajectory.task_id])[trajectory.task_id]


def judge(trajectory: Trajectory, task: Task | None, **trouble: Any) -> Verdict:
    def open_env(name: str, config: Mapping[str, Any]) -> Env:
        return WORLD.open({**config, **trouble})

    return asyncio.run(reexecuted(Case(trajectory, task, open_env), ReexecutedConfig(timeout_s=5)))


def test_what_can_be_done_again_is_kept(recorded: tuple[Trajectory, Task]) -> None:
    assert judge(*recorded) == Verdict(True, "same")


def test_a_changed_observation_is_dropped_with_its_turn(recorded: tuple[Trajectory, Task]) -> None:
    trajectory, task = recorded
    turn = trajectory.turns[1]
    other = msgspec.structs.replace(
        turn, observations=(msgspec.structs.replace(turn.observations[0], content="else"),)
    )
    changed = msgspec.structs.replace(
        trajectory, turns=(trajectory.turns[0], other, *trajectory.turns[2:])
    )
    verdict = judge(changed, task)
    assert (verdict.keep, verdict.reason, verdict.detail["turn"]) == (
        False,
        "observation_differs",
        1,
    )


def test_a_verdict_that_does_not_come_again_is_dropped(recorded: tuple[Trajectory, Task]) -> None:
    trajectory, task = recorded
    assert trajectory.check_result is not None
    lied = msgspec.structs.replace(
        trajectory, check_result=msgspec.structs.replace(trajectory.check_result, passed=False)
    )
    assert judge(lied, task).reason == "verdict_differs"


def test_a_world_that_breaks_is_no_verdict_on_the_trajectory(
    recorded: tuple[Trajectory, Task],
) -> None:
    verdict = judge(*recorded, fail_at_turn=1)
    assert (verdict.keep, verdict.reason, verdict.detail["fault"]) == (None, "fault", "environment")


def test_where_there_is_no_world_to_ask_it_stays_undefined(
    recorded: tuple[Trajectory, Task],
) -> None:
    def not_here(name: str, config: Mapping[str, Any]) -> Env:
        raise ConfigError(f"unknown world {name!r}")

    trajectory, task = recorded
    assert judge(trajectory, None) == Verdict(None, "no_world")
    imported = msgspec.structs.replace(trajectory, synthesizer="import")
    assert asyncio.run(reexecuted(Case(imported, task, not_here), ReexecutedConfig())) == Verdict(
        None, "no_world"
    )
    with pytest.raises(ConfigError, match="unknown world"):
        asyncio.run(reexecuted(Case(trajectory, task, not_here), ReexecutedConfig()))


def test_an_import_is_done_again_where_its_world_and_its_check_are_here(
    recorded: tuple[Trajectory, Task],
) -> None:
    trajectory, task = recorded
    imported = msgspec.structs.replace(trajectory, synthesizer="import")
    assert judge(imported, task) == Verdict(True, "same")
    assert judge(imported, msgspec.structs.replace(task, check=None)) == Verdict(None, "no_check")
