"""The stage on small worlds with a scripted policy: what becomes a label, what never does, and that
a rerun changes nothing.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import StoredLedger
from synth.schemas.errors import FlowError
from tests.flow_files import run_flow
from tests.synthesizers.failures.brittle_world import NAME as BRITTLE
from tests.synthesizers.failures.flows_of_failures import (
    WAVERING,
    asked,
    injected,
    injection_flow,
    scores,
)

pytestmark = pytest.mark.slow

SHOP = {"name": "storefront", "tasks": 3}
ECHO = {"name": "echo", "tasks": 2, "turns": 3}
SURE = {"explorer": {"policy": "expert"}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that most tests only look at."""
    folder = tmp_path_factory.mktemp("failures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        injected(folder / "run", injection_flow({"per_task": 4}))
    return folder / "run"


def test_every_attempt_is_accounted_for_once(run: Path) -> None:
    notes = scores(run, "injection_attempt")
    tried = [note for note in notes if note["detail"]["kind"] == "injection"]
    assert (
        len({(note["detail"]["task_id"], note["detail"]["key"]) for note in tried})
        == len(tried)
        == 16
    )
    report = injected(run, injection_flow({"per_task": 4}))
    reasons = Counter(note["detail"]["reason"] for note in tried)
    assert report["attempted"] == 16
    assert report["verified"] == reasons.pop("accepted")
    assert report["rejected"] == reasons
    assert any(line.startswith("mix in %") for line in report["also"])
    assert any(line.startswith("cost: ") for line in report["also"])


def test_a_rerun_has_nothing_to_do(run: Path) -> None:
    _, _, said = run_flow(injection_flow({"per_task": 4}), str(run))
    assert "failure_injection: nothing to do" in said


def test_the_flow_sees_failures_with_a_label_and_recoveries_and_nothing_else_of_the_stage(
    run: Path,
) -> None:
    seen = asked(
        run,
        "SELECT trajectory_id, outcome FROM trajectories WHERE synthesizer = 'failure_injection'",
    )
    failed = {row["subject_id"] for row in scores(run, "injection")}
    recovered = {row["subject_id"] for row in scores(run, "recovery")}
    assert failed
    assert recovered
    assert {identity for identity, outcome in seen if outcome == "failure"} == failed
    assert {identity for identity, outcome in seen if outcome == "success"} == recovered
    ((every,),) = asked(
        run, "SELECT count(*) FROM trajectories_all WHERE synthesizer = 'failure_injection'"
    )
    assert every > len(seen), "continuations are kept apart"


def test_what_other_settings_have_played_already_is_not_played_again_and_stays_in_sight(
    tmp_path: Path,
) -> None:
    url = tmp_path / "run"
    injected(url, injection_flow({"per_task": 2}))
    before = {identity for (identity,) in asked(url, "SELECT trajectory_id FROM trajectories_all")}
    injected(url, injection_flow({"per_task": 3}))
    shown = {
        identity
        for (identity,) in asked(
            url, "SELECT trajectory_id FROM trajectories WHERE synthesizer = 'failure_injection'"
        )
    }
    current = asked(url, "SELECT subject_id FROM scores WHERE metric IN ('injection', 'recovery')")
    assert {identity for (identity,) in current} == shown
    assert shown & before, "the first two attempts of each task are the same"
    ((twice,),) = asked(url, "SELECT count(*) - count(DISTINCT slot_id) FROM trajectories_all")
    assert twice == 0
    injected(url, injection_flow({"per_task": 3}))
    again = asked(
        url, "SELECT trajectory_id FROM trajectories WHERE synthesizer = 'failure_injection'"
    )
    assert {identity for (identity,) in again} == shown


def test_a_recovery_is_trained_on_from_the_turn_after_the_mistake_on(run: Path) -> None:
    for row in scores(run, "recovery"):
        turns = StoredLedger(str(run)).trajectory(row["subject_id"]).turns
        assert all(turn.mask is not None for turn in turns[: row["turn"] + 1])
        assert all(turn.mask is None for turn in turns[row["turn"] + 1 :])
        assert turns[row["turn"]].injected == row["detail"]["mode"]


def test_what_was_injected_stands_in_no_message_but_as_the_turn_itself(run: Path) -> None:
    for row in scores(run, "injection"):
        trajectory = StoredLedger(str(run)).trajectory(row["subject_id"])
        texts = [
            trajectory.system_prompt or "",
            *(o.content for turn in trajectory.turns for o in turn.observations),
        ]
        texts += [
            call.call_id + call.arguments for turn in trajectory.turns for call in turn.tool_calls
        ]
        assert not any("FM-" in text or "inject" in text.lower() for text in texts)


def test_a_label_claims_no_likelihood_and_no_earliest_step(run: Path) -> None:
    for row in scores(run, "injection"):
        found = {
            key: row["detail"][key]
            for key in ("dpo", "likelihood", "earliest_tested", "side", "legend_version")
        }
        expected = {
            "dpo": False,
            "likelihood": "not measured",
            "earliest_tested": False,
            "side": "agent",
            "legend_version": "mast-1",
        }
        assert found == expected


def test_the_modes_of_an_echo_desk_break_it_or_are_weak_as_worked_out_by_hand(
    tmp_path: Path,
) -> None:
    """Any word too many and any word too few fail the check, whatever comes after; the expert is
    sure of itself.
    """
    report = injected(
        tmp_path / "run", injection_flow({"per_task": 8, "per_twin": 8}, env=ECHO, models=SURE)
    )
    assert report["rejected"] == {}
    assert report["verified"] == report["attempted"] == 16
    assert set(report["modes"]) <= {"FM-1.3", "FM-1.5", "FM-2.1", "FM-3.1"}
    for row in scores(tmp_path / "run", "injection"):
        assert (row["detail"]["method"], row["detail"]["q_pos"], row["detail"]["q_neg"]) == (
            "flip_deterministic",
            1.0,
            0.0,
        )


def test_a_fault_of_the_world_is_a_reason_and_never_a_label(tmp_path: Path) -> None:
    env = {**ECHO, "name": BRITTLE}
    report = injected(
        tmp_path / "run",
        injection_flow({"per_task": 6, "modes": {"FM-1.5": 1, "FM-3.1": 1}}, env=env, models=SURE),
    )
    assert report["rejected"].keys() == {"fault:environment"}
    assert set(report["modes"]) == {"FM-3.1"}
    assert {row["detail"]["mode"] for row in scores(tmp_path / "run", "injection")} == {"FM-3.1"}
    invalid = asked(
        tmp_path / "run", "SELECT trajectory_id FROM trajectories WHERE outcome = 'invalid'"
    )
    assert invalid == [], "broken attempts are kept apart"


def test_each_round_is_twice_as_long_as_the_one_before_and_they_come_one_after_the_other(
    tmp_path: Path,
) -> None:
    injected(
        tmp_path / "run",
        injection_flow({"per_task": 1, "round": 1}, env={**ECHO, "tasks": 4}, models=SURE),
    )
    assert Counter(
        note["detail"]["round"] for note in scores(tmp_path / "run", "injection_attempt")
    ) == {0: 1, 1: 2, 2: 1}


def test_without_a_policy_only_the_recorded_rest_is_replayed_and_the_label_says_no_more(
    tmp_path: Path,
) -> None:
    report = injected(
        tmp_path / "run",
        injection_flow(
            {"per_task": 3, "evidence": "replay", "modes": {"FM-3.1": 1}}, env=ECHO, models=SURE
        ),
    )
    assert report["verified"] == 0
    assert report["rejected"] == {"replay_flip": 6}
    labels = scores(tmp_path / "run", "injection")
    assert {(row["value"], row["detail"]["status"]) for row in labels} == {(None, "replay_flip")}
    assert not any("n_pos" in row["detail"] for row in labels), "nothing was counted live"


def test_failed_trials_are_repaired_and_the_correction_is_counted_live(tmp_path: Path) -> None:
    """An expert that stops early leaves out the last word: saying it then, where it finished, is
    the repair.
    """
    models = {"explorer": {"policy": "expert", "profiles": "stops_early"}}
    report = injected(
        tmp_path / "run", injection_flow({"per_task": 1, "repairs": 1}, env=ECHO, models=models)
    )
    assert "2 tasks without a clean trial" in report["also"]
    repairs = scores(tmp_path / "run", "repair")
    assert report["attempted"] == report["verified"] == len(repairs) == 2
    for row in repairs:
        assert (row["value"], row["turn"], row["detail"]["earliest_tested"]) == (1.0, 2, True)
        assert (row["detail"]["q_pos"], row["detail"]["q_neg"]) == (1.0, 0.0)
        assert row["detail"]["correction"]["tool_calls"][0]["name"] == "echo"
        assert row["detail"]["original"]["tool_calls"][0]["name"] == "finish"


def test_the_control_compares_the_clean_turn_with_itself_on_continuations_of_its_own(
    tmp_path: Path,
) -> None:
    stage = {"per_task": 3, "controls": 1.0}
    report = injected(tmp_path / "run", injection_flow(stage, models={"explorer": WAVERING}))
    controls = scores(tmp_path / "run", "injection_control")
    assert controls
    assert any(
        line.startswith(f"A/A: {sum(row['value'] for row in controls):.0f} of {len(controls)}")
        for line in report["also"]
    )
    counted = [
        set(row["detail"]["pos_ids"]) | set(row["detail"]["neg_ids"])
        for row in scores(tmp_path / "run", "injection")
    ]
    for row in controls:
        own = {*row["detail"]["pos_ids"], *row["detail"]["neg_ids"]}
        assert not any(own & others for others in counted)


@pytest.mark.parametrize(
    ("stage", "changes", "refusal"),
    [
        ({}, {"models": {}}, r"needs the role 'explorer'.*evidence: replay"),
        ({"role": "user"}, {}, r"plays the user of the world"),
        ({"strategies": {"role": 1}}, {}, r"role needs the role 'injector'"),
        ({"modes": {"FM-2.4": 1}}, {}, r"FM-2.4.*no failure mode that a single agent shows"),
        ({"evidence": "replay", "repairs": 1}, {}, r"tested by live continuations"),
        ({"per_tasks": 3}, {}, r"per_tasks is not a setting"),
        (
            {},
            {"models": {"explorer": {"policy": "expert"}, "injector": {"policy": "random"}}},
            r"'injector' writes mistakes in words",
        ),
    ],
)
def test_what_a_flow_lacks_is_told_in_one_line(
    tmp_path: Path, stage: dict[str, Any], changes: dict[str, Any], refusal: str
) -> None:
    flow = injection_flow(stage, **changes)
    only = flow.model_copy(update={"stages": flow.stages[1:]})
    with pytest.raises(FlowError, match=refusal):
        run_flow(only, str(tmp_path / "run"))
