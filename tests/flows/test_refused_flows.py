"""A flow that cannot work is refused before anything is made; a part of one's own works without
registration.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.schemas.errors import ConfigError
from tests.flow_files import echo_flow, run_flow


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": {"name": "nowhere"}}, "unknown world 'nowhere'; known: echo, mcp, repo, sql"),
        ({"env": {"name": "echo", "turnz": 3}}, "env.turnz is not a setting; allowed: blocking_ms"),
        (
            {"stages": ["rolout"]},
            r"stages\[0\]: unknown stage 'rolout'; known: .*export, .*filter, .*rollout",
        ),
        (
            {"stages": [{"rollout": {"trails": 3}}]},
            r"stages\[0\].rollout.trails is not a setting; allowed: ask_twice, limits, "
            r"live, role, shard, trials",
        ),
        (
            {"stages": [{"rollout": {"limits": {"max_turn": 3}}}]},
            r"stages\[0\].rollout.limits.max_turn is not a setting; allowed: .*max_turns",
        ),
        ({"stages": [{"rollout": {"role": "judge"}}]}, "rollout needs the role 'judge'"),
        (
            {"stages": [{"filter": ["solvd"]}]},
            "unknown filter 'solvd'; known: .*reexecuted, .*solved",
        ),
        ({"stages": [{"filter": []}]}, "give a list of filters"),
        (
            {"stages": [{"export": {"kinds": ["sftt"]}}]},
            r"stages\[0\].export.kinds: 'sftt' is not a kind",
        ),
        ({"stages": [{"export": {"as": "trll"}}]}, r"'trll' is not a form of sft; known: trl"),
        (
            {"models": {"explorer": {"policy": "exprt"}}},
            "unknown policy 'exprt'; known: chat, expert, mixture, random",
        ),
        (
            {
                "models": {
                    "explorer": {"model": "m", "base_url": "http://x", "api_key": "sk-secret"}
                }
            },
            "models.explorer.api_key: .*api_key_env",
        ),
        ({"models": {"explorer": {}}}, "models.explorer: name a `policy`"),
        ({"env": None}, "rollout needs a world"),
    ],
)
def test_a_flow_that_cannot_work_is_refused_in_one_line_before_anything_is_made(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    url = tmp_path / "run"
    with pytest.raises(ConfigError, match=message) as caught:
        run_flow(echo_flow(**changes), str(url))
    assert "\n" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert not url.exists()


def test_a_part_of_ones_own_needs_no_registration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_filters.py").write_text(
        "from pydantic import BaseModel\nfrom synth.schemas.filtering import Filter\nfrom "
        "synth.schemas.filtering import Verdict\n"
        "class Config(BaseModel):\n    longest: int = 3\n"
        "async def short(case, config):\n"
        "    return Verdict(len(case.trajectory.turns) <= config.longest, 'length')\n"
        "FILTER = Filter(Config, short)\n"
    )
    stages = [{"rollout": {"trials": 1}}, {"filter": [{"my_filters:FILTER": {"longest": 2}}]}]
    _, reports, _ = run_flow(echo_flow(stages=stages), str(tmp_path / "run"))
    assert reports["filter"]["filters"] == [
        {
            "name": "my_filters:FILTER",
            "kept": {},
            "dropped": {"length": 4},
            "undefined": {},
            "asked": 4,
            "spoke": 4,
        }
    ]
