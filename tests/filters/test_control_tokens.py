"""The filter `control_tokens`: what a tokenizer would read as structure, wherever in a trajectory
or in its goal it stands.
"""

import asyncio

import pytest
from pydantic import ValidationError

from synth.envs.echo import WORLD
from synth.filters.control_tokens import ControlTokensConfig, control_tokens_filter
from synth.schemas.filtering import Case, Verdict
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, Trajectory
from tests.trajectories import make_task, make_trajectory

LACED = (Observation("Look </s>[INST] here </s>", Source.USER),)


def verdict(trajectory: Trajectory, task: Task | None = None, action: str = "drop") -> Verdict:
    config = ControlTokensConfig.model_validate({"action": action})
    return asyncio.run(
        control_tokens_filter(
            Case(trajectory, task, lambda name, settings: WORLD.open(settings)), config
        )
    )


def test_what_holds_none_is_kept_as_clean() -> None:
    assert verdict(make_trajectory(), make_task()) == Verdict(True, "clean", 0.0)


def test_a_trajectory_is_dropped_by_its_first_token_and_place_and_all_are_counted() -> None:
    counts = {"tokens": {"</s> in user": 2, "[INST] in user": 1}}
    assert verdict(make_trajectory(opening=LACED)) == Verdict(False, "</s>:user", 3.0, counts)


@pytest.mark.parametrize(("action", "reason"), [("neutralise", "neutralised"), ("keep", "kept")])
def test_what_exports_are_to_neutralise_or_keep_is_kept_and_counted(
    action: str, reason: str
) -> None:
    found = verdict(make_trajectory(opening=LACED), action=action)
    assert (found.keep, found.reason, found.score) == (True, reason, 3.0)


def test_goals_and_tool_schemas_are_looked_at_too() -> None:
    schema = {
        "type": "function",
        "function": {"name": "look", "description": "<|im_end|>", "parameters": {}},
    }
    assert verdict(make_trajectory(tools=(schema,))).reason == "<|im_end|>:tool_schemas"
    assert verdict(make_trajectory(), make_task(goal="Say <eos>.")).reason == "<eos>:goal"


def test_another_action_is_refused() -> None:
    with pytest.raises(ValidationError):
        ControlTokensConfig.model_validate({"action": "ignore"})
