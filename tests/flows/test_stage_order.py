"""Stages in an order in which a second run would come to other rows than the first are refused,
with the order that works.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.flows.resolve import resolve
from synth.flows.stage_choice import refuse_order
from synth.schemas.errors import FlowError
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow

ROOT = Path(__file__).resolve().parents[2]
ROLLOUT, FILTER = {"rollout": {"trials": 1}}, {"filter": ["solved"]}
RETRY = {"reflect_retry": {}}
NAMED = {"export": {"name": "more"}}


@pytest.mark.parametrize(
    ("stages", "at", "before", "order"),
    [
        (
            ["export", FILTER, ROLLOUT],
            "stages[0].export",
            "stages[1].filter",
            "rollout, filter, export",
        ),
        (
            [ROLLOUT, "export", FILTER],
            "stages[1].export",
            "stages[2].filter",
            "rollout, filter, export",
        ),
        (
            [FILTER, ROLLOUT, "export"],
            "stages[0].filter",
            "stages[1].rollout",
            "rollout, filter, export",
        ),
        (
            [ROLLOUT, FILTER, RETRY, "report"],
            "stages[1].filter",
            "stages[2].reflect_retry",
            "rollout, reflect_retry, filter, report",
        ),
        (
            [ROLLOUT, "select", RETRY],
            "stages[1].select",
            "stages[2].reflect_retry",
            "rollout, reflect_retry, select",
        ),
        (
            [ROLLOUT, "export", "topology", "select"],
            "stages[1].export",
            "stages[2].topology",
            "rollout, topology, select, export",
        ),
    ],
)
def test_a_stage_before_what_it_is_to_take_in_is_refused_with_the_order_that_works(
    stages: list[Any], at: str, before: str, order: str
) -> None:
    with pytest.raises(FlowError) as caught:
        resolve(echo_flow(stages=stages))
    said = str(caught.value)
    assert said.startswith(f"{at} stands before {before}, so ")
    assert said.endswith(f"; put them in this order: {order}")
    assert "\n" not in said
    named = {
        name: stage for stage in stages for name in ([stage] if isinstance(stage, str) else stage)
    }
    resolve(echo_flow(stages=[named[name] for name in order.split(", ")]))


@pytest.mark.parametrize(
    "stages",
    [
        [FILTER, "export", "report"],
        [ROLLOUT, FILTER, {"critical_step": {}}, FILTER, "select", "export", NAMED, "report"],
        [ROLLOUT, "topology", RETRY, "report", FILTER],
    ],
)
def test_flows_that_only_curate_and_stages_that_make_no_trajectories_stay_valid(
    stages: list[Any],
) -> None:
    resolve(echo_flow(stages=stages))


def test_curating_passes_over_the_stages_that_collect() -> None:
    resolve(echo_flow(stages=[FILTER, ROLLOUT]), collect=False)
    with pytest.raises(
        FlowError,
        match=r"stages\[0\]\.export stands before stages\[2\]\.filter.*this order: filter, export$",
    ):
        resolve(echo_flow(stages=["export", ROLLOUT, FILTER]), collect=False)


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "configs").glob("*.yaml")))
def test_the_flows_that_come_along_are_in_order(name: str) -> None:
    refuse_order(
        Flow.model_validate(yaml.safe_load((ROOT / "configs" / name).read_text())).stages,
        collect=True,
    )
