"""What other trials did at a state, tested there: outcomes suggest, continuations decide, and only
what they accept enters `dpo`.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth import import_trajectories
from synth.api.curation import confirm
from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.proposal.confirming import confirming
from synth.ledger.ledger import StoredLedger
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
    found = siblings(StoredLedger(str(url)))
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


NOISY: dict[str, Any] = {
    "policy": "mixture",
    "of": [{"policy": "expert", "weight": 12}, {"policy": "random"}],
}


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trials of a planner that does something at random now and then, over databases."""
    url = tmp_path_factory.mktemp("databases") / "run"
    flow = {"name": "theirs", "seed": 11, "env": {"name": "sql", "tasks": 16}}
    flow |= {"models": {"explorer": NOISY}, "stages": [{"rollout": {"trials": 6}}]}
    run_flow(Flow.model_validate(flow), str(url))
    return url


def pairs_of(databases: Path, into: Path, *labels: Path) -> tuple[Any, set[str]]:
    """What `synth confirm` makes of these logs with the same planner playing on: the export of
    `dpo`, and the statuses of the tests.
    """
    import_trajectories(databases, into=into, labels=labels, quiet=True)
    given = {"models.explorer": NOISY, "stages.export.include_scripted": True}
    result = confirm(into, set=given, quiet=True)
    tests = {detail["status"] for *_, detail in rows(str(into)) if not detail["control"]}
    return result.reports["export"]["datasets"]["dpo"], tests


@pytest.mark.slow
def test_in_a_world_whose_acts_cannot_be_undone_logs_lead_to_confirmed_pairs(
    databases: Path, tmp_path: Path
) -> None:
    """A row that is changed stays so, and whoever changes it again fails again."""
    dpo, tests = pairs_of(databases, tmp_path / "mine")
    assert dpo["rows"] >= 1
    assert "confirmed" in tests
    (shard,) = (tmp_path / "mine" / "datasets" / "dpo").glob("*.parquet")
    assert set(pq.read_table(shard)["evidence"].to_pylist()) == {"tested"}


@pytest.mark.slow
def test_verdicts_that_lie_are_found_out(databases: Path, tmp_path: Path) -> None:
    """Each verdict is turned round. The world itself judges the replayed trial, and nothing is
    tested where it says otherwise.
    """
    labels = tmp_path / "labels.jsonl"
    told = [
        {"id": one.trajectory_id, "success": one.outcome != "success"}
        for one in StoredLedger(str(databases)).trajectories()
    ]
    labels.write_text("".join(json.dumps(one) + "\n" for one in told))
    dpo, tests = pairs_of(databases, tmp_path / "mine", labels)
    assert (dpo["rows"], tests) == (0, set())


def test_a_world_is_started_as_its_user_says(tmp_path: Path) -> None:
    flow = {"name": "theirs", "seed": 3, "env": {"name": "sql", "tasks": 1, "tables": 3}}
    flow |= {"models": {"explorer": {"policy": "expert"}}, "stages": [{"rollout": {"trials": 1}}]}
    run_flow(Flow.model_validate(flow), str(tmp_path / "run"))
    bound = Bindings({"sql": SaidByUser("sql", {"tables": 5})})
    ledger = StoredLedger(str(as_import(tmp_path / "run")))
    told = confirming(ledger, bound, {"models.explorer.policy": "expert"})
    assert told.env.model_dump(exclude_unset=True) == {"name": "sql", "tables": 5, "tasks": 0}
