"""Settings of `critical_step` that cannot work, told in one line."""

from pathlib import Path
from typing import Any

import pytest

from synth.flows.resolve import resolve
from synth.schemas.errors import FlowError, SynthError
from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import fork_flow


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"role": "teacher"},
            "stages[1].critical_step: critical_step needs the role 'teacher': add `models: "
            "{teacher: ...}` to the flow",
        ),
        (
            {"alternatives_from": ["critic"]},
            "stages[1].critical_step: critical_step needs the role 'critic'",
        ),
        ({"control_share": 0}, "stages[1].critical_step.control_share: must be more than 0"),
        ({"proposals": {"form": "all"}}, "stages[1].critical_step.proposals.form is not a setting"),
    ],
)
def test_what_the_flow_lacks_is_one_line_with_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(FlowError) as caught:
        resolve(fork_flow(changes))
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_rollout_that_is_set_wrong_is_told_as_its_own_mistake() -> None:
    content = fork_flow().model_dump(mode="json")
    content["stages"] = [content["stages"][1], {"name": "rollout", "settings": {"trials": "nine"}}]
    with pytest.raises(FlowError, match=r"^stages\[1\].rollout.trials: must be a whole number"):
        resolve(Flow.model_validate(content))


def test_a_world_without_an_expert_is_told_when_its_expert_is_asked_for(tmp_path: Path) -> None:
    content = fork_flow({"alternatives_from": ["expert"]}).model_dump(mode="json")
    content["env"]["name"] = "tests.synthesizers.fork_world:WITHOUT_EXPERT"
    with pytest.raises(
        SynthError, match=r"^stages\[1\]\.critical_step: world .* has no expert; name a role"
    ):
        run_flow(Flow.model_validate(content), str(tmp_path / "run"))
