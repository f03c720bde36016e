"""Step labels by tier: counted, blamed by the check, statistical; null is not False."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.ledger.ledger import Score
from synth.pairs import LabelSettings, StepReport, step_labels
from synth.pairs.step_labels import BlamedStep, blamed
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.evidence.pairs import Tier
from synth.schemas.trajectory import Observation, SampledBy, Trajectory
from tests.synth.pairs.planted import accepted, act, fork, planted, run, valued

pytestmark = pytest.mark.slow


def labels(ledger: Any, **settings: Any) -> tuple[list[Any], StepReport]:
    report = StepReport()
    found = [row.label for row in step_labels(ledger, LabelSettings(**settings), report)]
    return found, report


def test_counted_acts_have_a_soft_value_and_only_decided_ones_a_hard_label(tmp_path: Path) -> None:
    (base, good), (other, same) = fork("a"), fork("b", task="b")
    scores = [accepted(base, 1, good), valued(base, 1, 1, 8, 0.2)]
    scores += [
        valued(base, 1, 4, 4, 1.0, good),
        accepted(other, 1, same, status="rejected", q_pos=0.5, q_neg=0.25),
        valued(other, 1, 2, 8, 0.3),
        valued(other, 1, 2, 4, 0.4, same),
    ]
    found, report = labels(planted(tmp_path, [base, good, other, same], scores))
    assert {
        (one.trajectory_id, one.label, one.q, one.successes, one.n, one.q_confirm, one.n_confirm)
        for one in found
    } == {
        (base.trajectory_id, False, 0.2, 1, 8, 0.0, 4),
        (good.trajectory_id, True, 1.0, 4, 4, 0.75, 4),
        (other.trajectory_id, None, 0.3, 2, 8, None, 0),
        (same.trajectory_id, None, 0.4, 2, 4, None, 0),
    }
    assert report.labels == {
        (Tier.INTERVENTIONAL, True): 1,
        (Tier.INTERVENTIONAL, False): 1,
        (Tier.INTERVENTIONAL, None): 2,
    }


def test_an_act_that_never_passed_has_its_value_too(tmp_path: Path) -> None:
    base, _ = fork("a")
    other = run("never", act(0), act(1, "sell"), solved=False, parent_id=base.trajectory_id)
    scores = [
        accepted(base, 1, other, status="rejected", q_pos=0.0, q_neg=0.0),
        valued(base, 1, 0, 2, 0.0),
        valued(base, 1, 0, 2, 0.0, other),
    ]
    found, _ = labels(planted(tmp_path, [base, other], scores))
    assert {(one.trajectory_id, one.label, one.q) for one in found} == {
        (base.trajectory_id, None, 0.0),
        (other.trajectory_id, None, 0.0),
    }


def test_what_a_stopped_test_counted_is_no_value(tmp_path: Path) -> None:
    """Where tests share a side and no joint count is there, the rate is null; so an act that
    nothing decided has no row.
    """
    (base, good), (other, same) = fork("a"), fork("b", task="b")
    scores = [accepted(base, 1, good), valued(base, 1, 1, 8), valued(base, 1, 4, 4, None, good)]
    scores += [accepted(other, 1, same, status="rejected"), valued(other, 1, 2, 8)]
    found, _ = labels(planted(tmp_path, [base, good, other, same], scores))
    assert {(one.trajectory_id, one.label, one.q, one.successes, one.n) for one in found} == {
        (base.trajectory_id, False, None, 1, 8),
        (good.trajectory_id, True, None, 4, 4),
    }


def checked(*evidence: str, part: str = "process") -> CheckResult:
    return CheckResult(False, (SubVerdict(part, False, evidence),), {}, "1")


def failed(check: CheckResult, *turns: Any, **fields: Any) -> Trajectory:
    return run("f", *turns, solved=False, check_result=check, **fields)


def test_the_turn_that_a_broken_rule_names_is_blamed() -> None:
    one = failed(
        checked("R2 in turn 1: without a yes", "R1 in turn 1: unverified"),
        act(0),
        act(1, "cancel_order"),
    )
    assert list(blamed(one)) == [
        BlamedStep(1, "policy_breach:R2"),
        BlamedStep(1, "policy_breach:R1"),
    ]


@pytest.mark.parametrize(
    "change", [{"sampled_by": SampledBy.REPLAYED}, {"injected": "wrong_value"}]
)
def test_a_turn_that_the_policy_did_not_take_is_never_blamed(change: dict[str, Any]) -> None:
    one = failed(checked("R2 in turn 1: without a yes"), act(0), act(1, "cancel_order", **change))
    assert [found.turn for found in blamed(one)] == [None]


def test_a_write_on_a_protected_row_is_the_one_that_names_it_and_nobodys_where_several_do() -> None:
    check = checked("changed although protected: orders/O-1/status", part="state")
    first, second = (
        act(n, "cancel_order", arguments={"order_id": order})
        for n, order in ((1, "O-1"), (2, "O-2"))
    )
    assert list(blamed(failed(check, act(0), first, second))) == [
        BlamedStep(1, "protected_write:orders")
    ]
    again = act(3, "change_order", arguments={"order_id": "O-1"})
    assert list(blamed(failed(check, act(0), first, second, again))) == [
        BlamedStep(None, "protected_write:orders")
    ]
    refused = msgspec.structs.replace(
        first, observations=(Observation("no", call_id="c1", error=True),)
    )
    assert [
        found.turn
        for found in blamed(
            failed(check, act(0), refused, act(2, "change_order", arguments={"order_id": "O-1"}))
        )
    ] == [2]


def test_statistics_are_asked_for_by_name_and_are_no_hard_label(tmp_path: Path) -> None:
    one = failed(checked("R2 in turn 1: without a yes"), act(0), act(1, "cancel_order"))
    ledger = planted(tmp_path, [one], [Score(one.trajectory_id, "decisive_drop", -0.4, 0)])
    assert [(label.tier, label.turn, label.label) for label in labels(ledger)[0]] == [
        (Tier.GOLD_RULE, 1, False)
    ]
    found, report = labels(ledger, include_statistical=True)
    assert [
        (label.tier, label.label, label.value) for label in found if label.tier is Tier.STATISTICAL
    ] == [(Tier.STATISTICAL, None, -0.4)]
    assert report.tiers == {Tier.GOLD_RULE: 1, Tier.STATISTICAL: 1}


def test_benchmarks_give_no_labels_unless_named(tmp_path: Path) -> None:
    one = failed(
        checked("R2 in turn 1: without a yes"), act(0), act(1, "cancel_order"), benchmark="tau/test"
    )
    ledger = planted(tmp_path, [one], [])
    assert labels(ledger)[1].left_out == {"benchmark": 1}
    assert len(labels(ledger, allow_benchmark=True)[0]) == 1
