"""Critical steps: labels that stand on counted continuations, with their control; killed or stopped
in the middle, the same ones.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from synth.flows.resolve import resolve
from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import evidence, fork_flow, outcomes, rows
from tests.synthesizers.fork_world import dice


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    dice.opened, dice.thrown, dice.dies_at = 0, [], None
    yield
    dice.dies_at = None


@pytest.mark.slow
def test_the_act_that_lost_is_found_and_what_would_have_saved_it(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(fork_flow(), url)
    at_the_fork = [
        (value, detail)
        for _, turn, value, detail in rows(url)
        if turn == 0 and not detail["control"]
    ]
    assert len(at_the_fork) == 6
    for value, detail in at_the_fork:
        assert (value, detail["status"], detail["method"], detail["stopped_at"]) == (
            1.0,
            "confirmed",
            "sequential",
            4,
        )
        assert (detail["q_pos"], detail["n_pos"], detail["q_neg"], detail["n_neg"]) == (
            1.0,
            4,
            0.0,
            4,
        )
        act = msgspec.json.decode(detail["alternative"]["tool_calls"][0]["arguments"])
        assert act == {"way": "right"}
        assert (detail["alternative_from"], detail["alternative_authorship"]) == (
            "expert",
            "scripted",
        )
        assert msgspec.json.decode(detail["on_policy_for"]) == {"policy": "roller", "way": "left"}
    last = [value for _, turn, value, detail in rows(url) if turn == 1 and not detail["control"]]
    assert set(last) == {0.0}, "on the lost way no throw is any better"
    assert reports["critical_step"]["verified"] == 6


@pytest.mark.slow
def test_continuations_are_played_once_and_committed_once(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(fork_flow({"alternatives_from": ["expert"]}), url)
    played = evidence(url)
    counted = {
        identity
        for _, _, _, d in rows(url)
        for side in ("pos_ids", "neg_ids", "confirm_pos_ids", "confirm_neg_ids")
        for identity in d.get(side, ())
    }
    assert counted == set(played)
    assert len(set(played.values())) == len(played)
    asked_the_expert, trials = 12, 6
    assert dice.opened == trials + asked_the_expert + len(played)


def test_truncated_trials_are_no_failures_to_learn_from(tmp_path: Path) -> None:
    flow = fork_flow()
    flow = flow.model_copy(
        update={
            "stages": (
                flow.stages[0].model_copy(update={"settings": {"limits": {"max_turns": 1}}}),
                flow.stages[1],
            )
        }
    )
    _, reports, _ = run_flow(flow, str(tmp_path / "run"))
    assert reports["rollout"]["outcomes"] == {"truncated": 24}
    assert reports["critical_step"]["attempted"] == 0


def test_continuations_are_played_under_the_limits_of_the_rollout(tmp_path: Path) -> None:
    content = fork_flow().model_dump(mode="json")
    content["stages"][0]["settings"] = {"trials": 1, "limits": {"max_turns": 17}}
    _, stages = resolve(Flow.model_validate(content))
    (stage,) = [stage for stage in stages if stage.name == "critical_step"]
    assert stage.settings["limits"]["max_turns"] == 17


@pytest.mark.slow
def test_the_own_act_is_compared_with_itself_and_the_rate_is_told_with_its_count(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(fork_flow({"control_share": 0.2}, tasks=10, right=90), url)
    controls = [detail for _, _, _, detail in rows(url) if detail["control"]]
    assert len(controls) == 0.2 * 10 * 3 * 2, (
        "of the tests planned: three steps, two alternatives each"
    )
    for detail in controls:
        assert detail["status"] == "control"
        assert not set(detail["pos_ids"]) & set(detail["neg_ids"])
        assert "alternative" not in detail
    report = reports["critical_step"]
    accepted = sum(detail["accepted"] for detail in controls)
    assert report["control"] == {"accepted": accepted, "tests": 12}
    assert report["also"][0].startswith(f"A/A: {accepted} of 12 accepted (95 % 0.")
    assert report["verified"] + report["rejected"]["no_effect"] == len(rows(url)) - 12


def test_too_few_tests_have_no_control_and_the_report_says_so(tmp_path: Path) -> None:
    _, reports, _ = run_flow(fork_flow(tasks=1), str(tmp_path / "run"))
    assert reports["critical_step"]["control"] == {"accepted": 0, "tests": 0}
    assert "A/A: none, so no alarm could be raised" in reports["critical_step"]["also"]


@pytest.mark.slow
def test_a_rerun_plays_nothing_and_writes_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, first, _ = run_flow(fork_flow(), url)
    before, shards = rows(url), len(StoredLedger(url).state.shards)
    dice.opened = 0
    _, again, said = run_flow(fork_flow(), url)
    assert (dice.opened, rows(url), again, len(StoredLedger(url).state.shards)) == (
        0,
        before,
        first,
        shards,
    )
    assert "critical_step: nothing to do" in said


@pytest.mark.slow
def test_changed_settings_take_over_the_continuations_that_are_there(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    only_expert = {"alternatives_from": ["expert"]}
    run_flow(fork_flow(only_expert), url)
    before = outcomes(url)
    dice.opened = 0
    run_flow(fork_flow(only_expert | {"proposals": {"per_trajectory": 1}}), url)
    assert dice.opened == 6, "the expert is asked again; nothing is continued again"
    labels = rows(url)
    assert {turn for _, turn, _, _ in labels} == {0}
    seen = outcomes(url)
    counted = {
        identity for _, _, _, d in labels for side in ("pos_ids", "neg_ids") for identity in d[side]
    }
    assert counted <= set(seen) == set(before)
    dice.opened = 0
    run_flow(fork_flow(only_expert | {"proposals": {"per_trajectory": 1}}), url)
    assert (dice.opened, outcomes(url)) == (0, seen)


@pytest.mark.slow
def test_killed_in_the_middle_it_comes_to_the_same_labels(tmp_path: Path) -> None:
    flow, whole, cut = (
        fork_flow({"shard": 2}, left=20, right=80),
        str(tmp_path / "whole"),
        str(tmp_path / "cut"),
    )
    run_flow(flow, whole)
    dice.opened, dice.dies_at = 0, 60
    with pytest.raises(SynthError, match="the disk is full"):
        run_flow(flow, cut)
    assert rows(cut) == []
    dice.dies_at = None
    run_flow(flow, cut)
    assert rows(cut) == rows(whole)
    assert rows(cut, "step_value") == rows(whole, "step_value")
    assert outcomes(cut) == outcomes(whole)
    assert len(set(evidence(cut).values())) == len(evidence(cut)) > 0, "nothing stands twice"


@pytest.mark.slow
def test_faults_are_counted_as_faults_and_make_no_label(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(fork_flow(tasks=12, breaks_from=50), url)
    valid = {identity for identity, outcome in outcomes(url).items() if outcome != "invalid"}
    undefined = [row for row in rows(url) if row[3]["status"] == "undefined"]
    assert undefined
    for _, _, value, detail in undefined:
        assert (value, detail["reason"]) == (None, "faults")
        assert detail["invalid"] > detail["stopped_at"] / 2
    for _, _, _, detail in rows(url):
        assert {*detail["pos_ids"], *detail["neg_ids"]} <= valid
        assert detail["n_pos"] + detail["n_neg"] + detail["invalid"] == 2 * detail["stopped_at"]
    real = [row for row in undefined if not row[3]["control"]]
    assert reports["critical_step"]["rejected"]["faults"] == len(real)


@pytest.mark.slow
def test_a_deterministic_policy_is_flipped_once_and_has_no_control(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    flow = Flow.model_validate(
        {
            "name": "flip",
            "seed": 1,
            "env": {"name": "echo", "tasks": 4, "turns": 3},
            "models": {"explorer": {"policy": "expert", "profiles": "stops_early"}},
            "stages": [{"rollout": {"trials": 1}}, {"critical_step": {}}],
        }
    )
    _, reports, _ = run_flow(flow, url)
    labels = rows(url)
    flipped = [
        (turn, value, d["status"], d["method"], d["n_pos"], d["n_neg"])
        for _, turn, value, d in labels
    ]
    assert flipped == [(2, 1.0, "confirmed", "flip_deterministic", 1, 1)] * 4, (
        "it said two words of three, then finished"
    )
    report = reports["critical_step"]
    assert report["control"] == {"accepted": 0, "tests": 0}
    assert report["also"] == ["4 flips of a deterministic policy, 4 from failure to success"]
    assert report["rejected"] == {"no_alternative": 8}, "up to there the expert does the same"


@pytest.mark.slow
def test_no_later_stage_takes_evidence_for_a_trial(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    export = {"kinds": ["sft"], "include_scripted": True, "include_evidence": True}
    after = [
        {"topology": {}},
        {"filter": ["solved"]},
        {"select": {"sft": {"per_task": 9}}},
        {"export": export},
    ]
    _, reports, _ = run_flow(
        fork_flow({"proposals": {"from": "all"}}, tasks=8, after=after, left=50), url
    )
    trials = {t.trajectory_id for t in StoredLedger(url).trajectories()}
    played = evidence(url)
    assert len(played) > 20
    assert not trials & set(played)
    with connect(StoredLedger(url)) as connection:
        judged = {
            identity
            for (identity,) in connection.execute(
                "SELECT DISTINCT trajectory_id FROM decisions"
            ).fetchall()
        }
        text = json.dumps(
            connection.execute("SELECT * FROM nodes").fetchall()
            + connection.execute("SELECT * FROM edges").fetchall()
        )
    assert judged <= trials
    assert not any(identity in text for identity in played)
    assert len(trials) == sum(reports["rollout"]["outcomes"].values())
    dataset = reports["export"]["datasets"]["sft"]
    assert dataset["rows"] == reports["rollout"]["outcomes"]["success"] > 0
