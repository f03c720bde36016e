"""A policy as one function: played in a flow, its settings checked, its trials known again."""

from pathlib import Path
from typing import Any

import pytest

import synth
from synth import AgentTurn, View, policy
from tests.flow_files import echo_flow

MINE = """
import json
from synth import AgentTurn, ToolCall, View, policy

@policy(deterministic=True)
async def reads_aloud(view: View, *, skip: int = 0) -> AgentTurn:
    '''Echo the words of the goal, without the first `skip`.'''
    words = view.opening.observations[0].content.partition(": ")[2].split()[skip:]
    done = len(view.turns)
    name, arguments = ("echo", {"text": words[done]}) if done < len(words) else ("finish", {})
    return AgentTurn(None, (ToolCall(f"call_{done}", name, json.dumps(arguments)),))

@policy()
async def says_nothing(view: View) -> AgentTurn:
    return None
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the user's own where they stand; modules are imported once."""
    name = f"mine_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return name


def played(policy: str, run_dir: Path, **settings: Any) -> synth.RunResult:
    explorer = {"policy": policy, **settings}
    stages = [{"rollout": {"trials": 1}}]
    return synth.run(
        echo_flow(models={"explorer": explorer}, stages=stages), run_dir=run_dir, quiet=True
    )


def test_a_flow_names_it_as_package_and_name(mine: str, tmp_path: Path) -> None:
    done = played(f"{mine}:reads_aloud", tmp_path / "run")
    trials = list(done.ledger.trajectories())
    assert [trial.outcome for trial in trials] == ["success"] * 4
    assert {trial.authorship for trial in trials} == {"scripted"}
    assert {len(trial.turns) for trial in trials} == {4}


@pytest.mark.slow
def test_other_settings_are_other_trials_and_the_same_ones_are_not_played_again(
    mine: str, tmp_path: Path
) -> None:
    def ids(**settings: Any) -> set[str]:
        done = played(f"{mine}:reads_aloud", tmp_path / "run", **settings)
        return {trial.trajectory_id for trial in done.ledger.trajectories()}

    first, without_one = ids(), ids(skip=1)
    assert len(first) == len(without_one) == 4
    assert not first & without_one
    assert ids() == first


def test_what_is_no_turn_ends_the_run_with_its_reason_and_is_never_a_label(
    mine: str, tmp_path: Path
) -> None:
    with pytest.raises(synth.SynthError, match=r"policy returned turn: .*got `null`"):
        played(f"{mine}:says_nothing", tmp_path / "run")
    query = "SELECT DISTINCT outcome, fault FROM trajectories"
    rows = synth.open_ledger(tmp_path / "run").sql(query).fetchall()
    assert rows == [("invalid", "model")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"skips": 1}, r"skips is not a setting; allowed: .*skip"), ({"skip": "1"}, "skip")],
)
def test_settings_that_it_does_not_take_are_errors_of_the_flow(
    mine: str, tmp_path: Path, settings: Any, message: str
) -> None:
    with pytest.raises(synth.ConfigError, match=message) as caught:
        played(f"{mine}:reads_aloud", tmp_path / "run", **settings)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


async def no_view() -> AgentTurn:
    return AgentTurn("Hello")


def no_coroutine(view: View) -> AgentTurn:
    return AgentTurn("Hello")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_view, r"@policy no_view: takes no parameter; the first is the view"),
        (no_coroutine, r"@policy no_coroutine: write it as `async def`"),
    ],
)
def test_a_function_that_can_be_no_policy_is_refused_where_it_stands(
    function: Any, message: str
) -> None:
    with pytest.raises(synth.ConfigError, match=message):
        policy()(function)
