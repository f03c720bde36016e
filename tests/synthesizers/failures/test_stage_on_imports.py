"""Imported trajectories as twins: built on where their world answers the same here."""

from pathlib import Path
from typing import Any

import pytest

from tests.flow_files import run_flow
from tests.synthesizers.failures.flows_of_failures import (
    injected,
    injection_flow,
)
from tests.synthesizers.failures.test_stage import ECHO, SURE
from tests.synthesizers.foreign import as_import

pytestmark = pytest.mark.slow


def _no_rollout(stage: dict[str, Any]) -> Any:
    flow = injection_flow(env={**ECHO, "tasks": 0}, models=SURE)
    return flow.model_copy(
        update={"stages": (flow.stages[1].model_copy(update={"settings": stage}),)}
    )


def test_imported_trajectories_are_built_on_where_their_world_is_here(tmp_path: Path) -> None:
    run_flow(injection_flow({"per_task": 0}, env=ECHO, models=SURE), str(tmp_path / "run"))
    as_import(tmp_path / "run")
    report = injected(
        tmp_path / "run-imports", _no_rollout({"per_task": 2, "strategies": {"rule": 1}})
    )
    assert report["attempted"] == report["verified"] == 4


def test_imported_trajectories_without_a_world_are_counted_with_the_reason(tmp_path: Path) -> None:
    run_flow(injection_flow({"per_task": 0}, env=ECHO, models=SURE), str(tmp_path / "run"))
    as_import(tmp_path / "run", env="a world of theirs")
    report = injected(tmp_path / "run-imports", _no_rollout({"per_task": 2}))
    assert report["attempted"] == 0
    assert "cannot be built on: 4 no_world" in report["also"]


def test_a_twin_that_its_world_does_not_reproduce_is_left_out_with_the_reason(
    tmp_path: Path,
) -> None:
    run_flow(injection_flow({"per_task": 0}, env=ECHO, models=SURE), str(tmp_path / "run"))
    as_import(tmp_path / "run", spoilt=True)
    report = injected(tmp_path / "run-imports", _no_rollout({"per_task": 2}))
    assert report["attempted"] == 0
    assert "cannot be built on: 4 drift" in report["also"]
