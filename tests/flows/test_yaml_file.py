"""Flows from files: strict, with overrides, wrong ones told with their place."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows.yaml_file import read_flow
from schemas.errors import ConfigError
from schemas.flow import Flow, StageChoice

FLOW = """
name: x
env: {name: echo, tasks: 3}
stages:
  - rollout
  - filter: [solved]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "flow.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_stage_is_a_name_or_a_mapping(tmp_path: Path) -> None:
    flow = read_flow(write(tmp_path, FLOW))
    assert flow.stages == (StageChoice(name="rollout"), StageChoice(name="filter", settings=["solved"]))


@pytest.mark.parametrize(
    ("override", "check"),
    [
        ("seed=9", lambda flow: flow.seed == 9),
        ("env.tasks=7", lambda flow: flow.env.tasks == 7),
        ("env.turns=2", lambda flow: flow.env.settings() == {"turns": 2}),
        ("stages.rollout.trials=5", lambda flow: flow.stages[0].settings == {"trials": 5}),
        ("stages.0.trials=5", lambda flow: flow.stages[0].settings == {"trials": 5}),
        ("models.explorer.policy=expert", lambda flow: flow.models == {"explorer": {"policy": "expert"}}),
        ("name=quick", lambda flow: flow.name == "quick"),
    ],
)
def test_overrides_reach_every_place(tmp_path: Path, override: str, check) -> None:  # type: ignore[no-untyped-def]
    assert check(read_flow(write(tmp_path, FLOW), [override]))


@pytest.mark.parametrize("override", ["", "=", "seed", "name.deeper=1", "stages.nothing.trials=2", "env.tasks=[", "stages.9=1"])
def test_overrides_that_lead_nowhere_are_told(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        read_flow(write(tmp_path, FLOW), [override])


def test_a_flow_survives_being_written_down(tmp_path: Path) -> None:
    flow = read_flow(write(tmp_path, FLOW))
    assert Flow.model_validate(flow.model_dump(mode="json")) == flow


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=60) | st.text("name: []{}&*!|>'\"%@`-\n\t#,?:0x~ ", max_size=40))
def test_any_text_is_a_flow_or_one_line(tmp_path: Path, text: str) -> None:
    with contextlib.suppress(ConfigError):
        read_flow(write(tmp_path, text))
        return
    with pytest.raises(ConfigError) as caught:
        read_flow(write(tmp_path, text))
    assert "\n" not in str(caught.value)
