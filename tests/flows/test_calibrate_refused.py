"""What cannot be calibrated is told before anything is made, and what a calibration may cost."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from synth.cli.run import run as run_command
from synth.schemas.errors import ConfigError
from tests.flow_files import run_flow
from tests.flows.calibrations import flow, played
from tests.flows.leveled_world import FEW_NAME, MISNAMED_NAME, NAME
from tests.flows.test_killed import write


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"name": NAME, "difficulty": {"target_pass_rate": 0.5, "against": "teacher"}},
            r"difficulty\.against: no role 'teacher'.*explorer",
        ),
        (
            {"name": "echo", "difficulty": {"target_pass_rate": 0.5}},
            "'echo' has no setting that makes its tasks harder",
        ),
        (
            {"name": NAME, "level": 0.2, "difficulty": {"target_pass_rate": 0.5}},
            r"env\.level and env\.difficulty",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_told_before_anything_is_made(
    tmp_path: Path, env: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run_flow(flow(env=env), str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_world_whose_settings_refuse_its_own_level_is_told_before_anything_is_made(
    tmp_path: Path,
) -> None:
    message = (
        r"world '\S+MISNAMED_WORLD' names 'strength' as its level, but refuses 0: "
        r"env\.strength is not a setting; allowed: level"
    )
    with pytest.raises(ConfigError, match=message):
        run_flow(
            flow(env={"name": MISNAMED_NAME, "difficulty": {"target_pass_rate": 0.5}}),
            str(tmp_path / "run"),
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_tasks_that_a_level_cannot_have_are_told_with_the_level_before_any_is_played(
    tmp_path: Path,
) -> None:
    impossible = {"name": "storefront", "look_ups": [6, 6], "difficulty": {"target_pass_rate": 0.5}}
    with pytest.raises(
        ConfigError,
        match=r"^calibrate: at level 0: env: no task of kind feasible with 1 operations, look_ups "
        r"\(6, 6\)",
    ):
        run_flow(
            flow(env=impossible, models={"explorer": {"policy": "expert"}}, stages=[]),
            str(tmp_path / "run"),
        )
    assert played(str(tmp_path / "run")) == 0


@pytest.mark.slow
def test_a_world_with_few_tasks_of_a_level_may_give_one_twice(tmp_path: Path) -> None:
    env = {"name": FEW_NAME, "tasks": 3, "difficulty": {"target_pass_rate": 0.5, "episodes": 40}}
    _, reports, _ = run_flow(
        flow(env=env, stages=[{"rollout": {"trials": 1}}]), str(tmp_path / "run")
    )
    assert (
        reports["calibrate"]["episodes"],
        played(str(tmp_path / "run")),
        reports["tasks"]["count"],
    ) == (40, 40, 3)


def test_a_dry_run_says_what_the_calibration_may_cost(tmp_path: Path) -> None:
    file = write(flow(), tmp_path / "flow.yaml")
    done = CliRunner().invoke(
        run_command, [str(file), "--run-dir", str(tmp_path / "run"), "--dry-run"]
    )
    assert done.exit_code == 0, done.output
    assert (
        "calibrate: plays at most 60 episodes of explorer before the tasks are made" in done.stdout
    )
    assert not (tmp_path / "run").exists()
