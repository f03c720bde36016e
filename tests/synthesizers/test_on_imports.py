"""Retries and step tests on trials that were imported: built on where their world is here, counted
with the reason where not.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import StoredLedger
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from tests.flow_files import run_flow
from tests.synthesizers.foreign import as_import
from tests.synthesizers.fork_flows import rows

pytestmark = pytest.mark.slow

STOREFRONT = {"name": "storefront", "tasks": 8}
TEXTWORLD = {"name": "textworld", "tasks": 4}
EXPERT: dict[str, Any] = {"policy": "expert", "profiles": "mixed"}
WANDERING: dict[str, Any] = {
    "policy": "mixture",
    "of": [{"policy": "expert", "weight": 0.3}, {"policy": "random", "weight": 0.7}],
}
WORLDS = [
    pytest.param(STOREFRONT, EXPERT, id="storefront"),
    pytest.param(
        TEXTWORLD,
        WANDERING,
        id="textworld",
        marks=pytest.mark.skipif(
            find_spec("textworld") is None, reason="needs the extra textworld"
        ),
    ),
]


def played(folder: Path, env: dict[str, Any], explorer: dict[str, Any]) -> Path:
    flow = {"name": "theirs", "seed": 5, "env": env, "models": {"explorer": explorer}}
    stages = [{"rollout": {"trials": 3, "limits": {"max_turns": 15}}}]
    run_flow(Flow.model_validate({**flow, "stages": stages}), str(folder / "run"))
    return folder / "run"


def ours(stage: dict[str, Any], env: dict[str, Any] | None, explorer: dict[str, Any]) -> Flow:
    content = {"name": "ours", "seed": 5, "models": {"explorer": explorer}, "stages": [stage]}
    return Flow.model_validate(content | ({} if env is None else {"env": {**env, "tasks": 0}}))


def failed(url: Path, *, truncated: bool = True) -> set[str]:
    """Trials that are retried; without the `truncated` ones, those whose steps are tested."""
    wanted = {Outcome.FAILURE, Outcome.TRUNCATED} if truncated else {Outcome.FAILURE}
    return {t.trajectory_id for t in StoredLedger(str(url)).trajectories() if t.outcome in wanted}


@pytest.mark.parametrize(("env", "explorer"), WORLDS)
@pytest.mark.nightly
def test_imported_trials_are_retried_in_their_rebuilt_world(
    tmp_path: Path, env: dict[str, Any], explorer: dict[str, Any]
) -> None:
    url = as_import(played(tmp_path, env, explorer))
    bases = failed(url)
    _, reports, _ = run_flow(
        ours({"reflect_retry": {"reflector": "rules_blind"}}, None, explorer), str(url)
    )
    report = reports["reflect_retry"]
    retries = [t for t in StoredLedger(str(url)).trajectories() if t.synthesizer == "reflect_retry"]
    assert report["attempted"] == len(bases) > 0
    assert report["attempted"] == report["verified"] + sum(report["rejected"].values())
    assert retries
    assert {t.parent_id for t in retries} <= bases
    assert not any(t.fault for t in retries)
    assert "no_world" not in report["rejected"]


@pytest.mark.parametrize(("env", "explorer"), WORLDS)
def test_steps_of_imported_trials_are_tested_in_their_rebuilt_world(
    tmp_path: Path, env: dict[str, Any], explorer: dict[str, Any]
) -> None:
    url = as_import(played(tmp_path, env, explorer))
    proposals = {"per_trajectory": 1, "alternatives": 1, "from": "all"}
    stage = {"critical_step": {"proposals": proposals, "limits": {"max_turns": 30}}}
    _, reports, _ = run_flow(ours(stage, env, explorer), str(url))
    labels = [row for row in rows(str(url)) if not row[3]["control"]]
    assert labels
    assert {subject for subject, *_ in labels} <= {
        t.trajectory_id for t in StoredLedger(str(url)).trajectories()
    }
    assert {detail["status"] for *_, detail in labels} <= {"confirmed", "rejected"}
    assert "no_world" not in reports["critical_step"]["rejected"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"env": "a world of theirs"}, "no_world"), ({"check": None}, "no_check")],
)
def test_trials_that_cannot_be_built_on_are_counted_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    url = as_import(played(tmp_path, STOREFRONT, EXPERT), **changes)
    count = len(failed(url))
    _, reports, _ = run_flow(
        ours({"reflect_retry": {"reflector": "rules_blind"}}, STOREFRONT, EXPERT), str(url)
    )
    assert (reports["reflect_retry"]["attempted"], reports["reflect_retry"]["rejected"]) == (
        count,
        {reason: count},
    )
    flow, count = ours({"critical_step": {}}, STOREFRONT, EXPERT), len(failed(url, truncated=False))
    _, reports, _ = run_flow(flow, str(url))
    assert (reports["critical_step"]["attempted"], reports["critical_step"]["rejected"]) == (
        count,
        {reason: count},
    )
    assert rows(str(url)) == []
    _, again, said = run_flow(flow, str(url))
    assert "critical_step: nothing to do" in said
    assert again == reports


def test_trials_that_their_world_does_not_reproduce_are_counted_as_drift(tmp_path: Path) -> None:
    url = as_import(played(tmp_path, STOREFRONT, EXPERT), spoilt=True)
    for stage in ({"reflect_retry": {"reflector": "rules_blind"}}, {"critical_step": {}}):
        (name,) = stage
        _, reports, _ = run_flow(ours(stage, STOREFRONT, EXPERT), str(url))
        assert reports[name]["rejected"] == {
            "drift": len(failed(url, truncated=name == "reflect_retry"))
        }
