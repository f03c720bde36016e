"""The view `groups`, on trials whose counts are seen at a glance and on drawn ones whose verdict is
worked out trial by trial.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.sql import query
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Trajectory, Usage
from tests.trajectories import make_fault, make_trajectory

KEY = StageRef("rollout", "key")
S, F, T = Outcome.SUCCESS, Outcome.FAILURE, Outcome.TRUNCATED


def trial(slot: str, outcome: Outcome = S, weights: str | None = "w1", **fields: Any) -> Trajectory:
    ending = {"termination": Termination.TURN_LIMIT} if outcome is T else {}
    asked = {
        "policy": "chat",
        "model": "m",
        "role": "explorer",
        "outcome": outcome,
        "weights_id": weights,
        "attempt": 0,
    }
    return make_trajectory(
        slot, **{**asked, **ending, "reward": 1.0 if outcome is S else 0.0, **fields}
    )


def lost(slot: str, attempt: int = 0) -> Trajectory:
    return replace(
        make_fault(slot, attempt), policy="chat", model="m", role="explorer", weights_id="w0"
    )


def asked(trajectories: Sequence[Trajectory], sql: str = "FROM groups") -> list[dict[str, Any]]:
    ledger = StoredLedger(f"memory://{uuid.uuid4().hex}/run", create=True)
    ledger.begin_stage(StageLine("rollout", "key", {}, ""))
    ledger.commit(KEY, trajectories=list(trajectories))
    found = query(ledger, sql)
    return [
        dict(zip([column[0] for column in found.description or ()], row, strict=True))
        for row in found.fetchall()
    ]


def test_a_group_counts_trials_by_outcome_and_may_be_contrasted() -> None:
    (group,) = asked([trial("a"), trial("b", F), trial("c", F), trial("d", T), lost("e")])
    assert group == {
        "task_id": "task",
        "policy": "chat",
        "model": "m",
        "sampling": "{}",
        "role": "explorer",
        "user_model": None,
        "n": 5,
        "n_success": 1,
        "n_failure": 2,
        "n_truncated": 1,
        "n_invalid": 1,
        "weights_ids": 1,
        "contrast": True,
        "reason": None,
    }


def test_a_trial_that_was_lost_and_made_again_is_one_and_weights_of_the_lost_one_do_not_count() -> (
    None
):
    (group,) = asked([lost("a", 0), lost("a", 1), trial("a", attempt=2), trial("b", F)])
    assert (
        group["n"],
        group["n_success"],
        group["n_invalid"],
        group["weights_ids"],
        group["contrast"],
    ) == (2, 1, 0, 1, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trials", "reason"),
    [
        ([trial("a"), trial("b", F)], None),
        ([trial("a"), trial("b", F, "w2")], "mixed_weights"),
        ([trial("a"), trial("b", F, None)], "mixed_weights"),
        ([trial("a"), trial("b", F), trial("c", T, "w2")], "mixed_weights"),
        ([trial("a", weights="mixed"), trial("b", F, "mixed")], "mixed_weights"),
        ([trial("a", weights=None), trial("b", F, None)], None),
        ([trial("a"), trial("b", F, None, totals=Usage())], None),
        ([trial("a", weights=None, totals=Usage()), trial("b", F, None, totals=Usage())], None),
        ([trial("a"), trial("b", F), trial("c"), lost("d")], None),
        ([trial("a"), trial("b", F), lost("c")], "lost_trials"),
        ([lost("a"), lost("b")], "lost_trials"),
        ([trial("a"), trial("b", F, "w2"), lost("c"), lost("d")], "mixed_weights"),
        ([trial("a"), trial("b")], "one_outcome"),
        ([trial("a", F), trial("b", F)], "one_outcome"),
        ([trial("a"), trial("b", T)], "one_outcome"),
        ([trial("a"), lost("b")], "lost_trials"),
    ],
)
def test_what_keeps_a_group_from_contrast_is_named(
    trials: list[Trajectory], reason: str | None
) -> None:
    (group,) = asked(trials)
    assert (group["contrast"], group["reason"]) == (reason is None, reason)


def test_trials_of_other_tasks_policies_models_samplings_and_roles_are_groups_of_their_own() -> (
    None
):
    apart = [
        {},
        {"task_id": "other"},
        {"policy": "expert"},
        {"model": "n"},
        {"sampling": {"temperature": 1.0}},
        {"role": "student"},
    ]
    apart += [{"user_model": "talker"}]
    groups = asked(
        [
            trial(f"{i}{outcome}", outcome, **fields)
            for i, fields in enumerate(apart)
            for outcome in (S, F)
        ]
    )
    assert [(group["n"], group["contrast"]) for group in groups] == [(2, True)] * len(apart)


def test_only_trials_from_the_beginning_of_a_task_are_counted() -> None:
    others = [
        trial("c", F, parent_id="p", pivot_turn=1),
        trial("d", F, synthesizer="reflect_retry"),
        trial("e", F, synthesizer="import"),
    ]
    (group,) = asked([trial("a"), *others])
    assert (group["n"], group["reason"]) == (1, "one_outcome")


def test_rows_of_a_former_flow_are_not_seen() -> None:
    ledger = StoredLedger(f"memory://{uuid.uuid4().hex}/run", create=True)
    ledger.commit(StageRef("rollout", "former"), trajectories=[trial("old", F)])
    ledger.begin_stage(StageLine("rollout", "key", {}, ""))
    ledger.commit(KEY, trajectories=[trial("new")])
    assert query(ledger, "SELECT n, n_success FROM groups").fetchall() == [(1, 1)]


TRIALS = st.lists(
    st.tuples(
        st.sampled_from([S, F, T, None]),
        st.sampled_from(["w1", "w1", "w1", "w2", "mixed", None]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=40)
@given(TRIALS)
def test_the_verdict_is_that_of_counting_by_hand(
    drawn: list[tuple[Outcome | None, str | None, bool]],
) -> None:
    """None for an invalid trial; the last says whether a model was asked."""
    made = [
        lost(f"{i}")
        if outcome is None
        else trial(f"{i}", outcome, weights, totals=Usage(1, 1, 0, 1) if asks else Usage())
        for i, (outcome, weights, asks) in enumerate(drawn)
    ]
    (group,) = asked(made)
    outcomes = [outcome for outcome, _, _ in drawn]
    weights = {weights for outcome, weights, asks in drawn if outcome is not None and asks}
    invalid = outcomes.count(None)
    if len(weights) > 1 or "mixed" in weights:
        reason = "mixed_weights"
    elif 4 * invalid > len(outcomes):
        reason = "lost_trials"
    elif S not in outcomes or F not in outcomes:
        reason = "one_outcome"
    else:
        reason = None
    assert (group["reason"], group["contrast"], group["n"], group["n_invalid"]) == (
        reason,
        reason is None,
        len(drawn),
        invalid,
    )


def test_repairs_are_counted_by_kind_role_and_model() -> None:
    def repaired(slot: str, *repairs: tuple[str, ...], **fields: Any) -> Trajectory:
        made = trial(slot, **fields)
        return replace(
            made,
            turns=tuple(
                replace(turn, repairs=each) for turn, each in zip(made.turns, repairs, strict=True)
            ),
        )

    trajectories = [
        repaired("a", ("tool_call_recovered", "tool_call_xml"), ("tool_call_recovered",)),
        repaired("b", ("tool_call_recovered",), ()),
        repaired("c", (), ("call_id_missing",), role="student", model="n"),
        repaired("d", (), ()),
    ]
    assert [tuple(row.values()) for row in asked(trajectories, "FROM repairs")] == [
        ("tool_call_recovered", "explorer", "rollout", "m", 3, 2),
        ("call_id_missing", "student", "rollout", "n", 1, 1),
        ("tool_call_xml", "explorer", "rollout", "m", 1, 1),
    ]
    assert asked([trial("a")], "FROM repairs") == []
