"""What other trials did at a state, tested there: outcomes suggest, continuations decide, and only
what they accept enters `dpo`.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.api.confirming import confirm
from synth.ledger.ledger import Ledger
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.synthesizers.sibling_acts import price, siblings
from tests.flow_files import run_flow
from tests.synthesizers.foreign import as_import
from tests.synthesizers.fork_flows import rows
from tests.synthesizers.fork_world import NAME, POLICY

BOTH: dict[str, Any] = {
    "policy": "mixture",
    "of": [{"policy": "expert", "weight": 0.5}, {"policy": POLICY, "weight": 0.5}],
}


def logs(folder: Path, tasks: int = 8, **ways: int) -> Path:
    """Trials that take either way, as somebody else's."""
    world = {"name": NAME, "tasks": tasks, **ways}
    flow = {"name": "theirs", "seed": 3, "env": world, "models": {"explorer": BOTH}}
    stages = [{"rollout": {"trials": 6}}]
    run_flow(Flow.model_validate({**flow, "stages": stages}), str(folder / "run"))
    return as_import(folder / "run")


def confirmed(url: Path) -> Any:
    given = {
        # a world of one's own is named by its user, never by the data
        "env.name": NAME,
        "models.explorer.policy": POLICY,
        "stages.export.include_scripted": True,
        "stages.critical_step.limits": {"max_turns": 4},
    }
    return confirm(url, set=given, quiet=True)


def told(result: Any, kind: str) -> Any:
    return result.reports["export"]["datasets"][kind]["left_out"]


@pytest.mark.slow
def test_what_decides_is_confirmed_and_is_all_that_pairs_are_made_of(tmp_path: Path) -> None:
    url = logs(tmp_path, left=0, right=100)
    found = siblings(Ledger(str(url)))
    assert found
    assert {turn for turns in found.values() for turn in turns} == {0}
    result = confirmed(url)
    tests = [detail for *_, detail in rows(str(url)) if not detail["control"]]
    assert {one["status"] for one in tests} == {"confirmed"}
    assert {one["proposed_by"] for one in tests} == {"sibling"}
    # nothing in this world says that there is a way to the right
    assert told(result, "dpo") == {"chosen_unjustified_argument": len(tests)}


@pytest.mark.slow
def test_what_only_coincided_is_not(tmp_path: Path) -> None:
    """Both ways pass in half of the throws: outcomes of trials suggest one of them, and no test
    does. What was thrown decides, and is confirmed.
    """
    url = logs(tmp_path, left=50, right=50)
    confirmed(url)
    found = {
        (call["name"], one["status"])
        for *_, one in rows(str(url))
        if not one["control"]
        for call in one["alternative"]["tool_calls"]
    }
    assert found == {("take", "rejected"), ("throw", "confirmed")}


@pytest.mark.slow
def test_without_a_world_or_a_policy_it_says_what_to_do(tmp_path: Path) -> None:
    url = logs(tmp_path, tasks=1, left=0, right=100)
    with pytest.raises(ConfigError, match=r"models\.explorer"):
        confirm(url, quiet=True)
    nowhere = as_import(tmp_path / "run", check=None)
    with pytest.raises(ConfigError, match="none of its tasks has a world"):
        confirm(nowhere, set={"models.explorer.policy": "expert"}, quiet=True)


def test_the_price_is_told_by_confirmed_act() -> None:
    assert list(price(0, 3)) == []
    assert list(price(900, 3)) == ["900 tokens for tests of acts, 300 per confirmed one"]
    assert list(price(900, 0)) == ["900 tokens for tests of acts, none is confirmed"]
