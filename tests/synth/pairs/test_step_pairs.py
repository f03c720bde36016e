"""Hard step labels in pairs of the same tools."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.pairs import LabelSettings, StepReport, paired_steps
from synth.pairs.step_pairs import HardLabel, given_away, paired
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.evidence.pairs import Tier
from synth.schemas.trajectory import Trajectory
from tests.synth.pairs.planted import accepted, act, fork, planted, run, valued


def hard(place: int, good: bool, **known: Any) -> HardLabel:
    about = {
        "tools": "take",
        "context": "echo|look",
        "prompt": "p",
        "drawn": str(place),
    }
    return HardLabel(place, good, **about | known)


def test_a_pair_is_of_one_tool_and_of_the_closest_state() -> None:
    labels = [
        hard(0, True),
        hard(1, False, prompt="other"),
        hard(2, False),
        hard(3, True, prompt="third"),
        hard(4, False, tools="drop"),
    ]
    assert paired(labels) == {0: "prompt", 2: "prompt", 1: "tool_in_context", 3: "tool_in_context"}


def test_partners_make_no_pairs_among_themselves_and_come_last() -> None:
    labels = [
        hard(-1, True, extra=True, drawn="a"),
        hard(0, False),
        hard(1, True, drawn="z"),
        hard(-2, True, extra=True),
    ]
    assert set(paired(labels)) == {0, 1}
    alone = [hard(-1, True, extra=True), hard(-2, False, extra=True)]
    assert paired(alone) == {}


labels_of_any_kind = st.lists(
    st.tuples(st.booleans(), st.sampled_from("ab"), st.sampled_from("cd"), st.sampled_from("pqrs"))
)


@pytest.mark.slow
@given(labels_of_any_kind)
def test_of_every_tool_as_many_are_true_as_false_however_labels_lie(
    drawn: list[tuple[bool, str, str, str]],
) -> None:
    labels = [
        hard(at, good, tools=tool, context=context, prompt=context + prompt)
        for at, (good, tool, context, prompt) in enumerate(drawn)
    ]
    taken = [one for one in labels if one.place in paired(labels)]
    for tool in "ab":
        for context in "cd":
            left = {
                one.good
                for one in labels
                if one not in taken and (one.tools, one.context) == (tool, context)
            }
            assert len(left) < 2, "a pair was left that could have been made"
            here = [one.good for one in taken if (one.tools, one.context) == (tool, context)]
            assert here.count(True) == here.count(False)


def test_what_the_tool_gives_away_is_a_half_in_pairs() -> None:
    # ask: 2 true, 0 false; write: 1 true, 3 false. Of 3 x 3 pairs (true, false) the true one is
    # ahead in 2 x 3, and equal in 1 x 3: (6 + 1.5) / 9
    told = [(True, "ask"), (True, "ask"), (True, "write"), *[(False, "write")] * 3]
    labels = [hard(at, good, tools=tool) for at, (good, tool) in enumerate(told)]
    assert given_away(labels) == 7.5 / 9
    assert given_away([one for one in labels if one.place in paired(labels)]) == 0.5
    assert given_away([hard(0, True)]) is None


def test_what_came_after_another_tool_is_another_kind_of_state() -> None:
    labels = [hard(0, True, context="a", prompt="p"), hard(1, False, context="b", prompt="q")]
    assert paired(labels) == {}
    assert (given_away(labels), given_away(labels, context=True)) == (0.5, 1.0)


def blamed(name: str) -> Trajectory:
    parts = (SubVerdict("process", False, ("R2 in turn 1: without a yes",)),)
    check = CheckResult(False, parts, {}, "1")
    return run(name, act(0), act(1, "cancel_order"), solved=False, check_result=check)


def test_a_blamed_write_stands_beside_a_write_of_a_trial_that_passed(tmp_path: Path) -> None:
    passed = CheckResult(True, (SubVerdict("process", True, ()),), {}, "1")
    good = run(
        "good",
        act(0),
        act(1, "cancel_order", arguments={"what": "chair"}),
        solved=True,
        check_result=passed,
    )
    unjudged = run("unjudged", act(0), act(1, "cancel_order"), solved=True)
    report = StepReport()
    ledger = planted(tmp_path, [blamed("bad"), good, unjudged], [])
    rows = [row.label for row in paired_steps(ledger, LabelSettings(), report)]
    assert [(one.turn, one.label, one.rule, one.tier) for one in rows] == [
        (1, False, "policy_breach:R2", Tier.GOLD_RULE),
        (1, True, "passed_check", Tier.GOLD_RULE),
    ]
    assert report.labels == {(Tier.GOLD_RULE, False): 1, (Tier.GOLD_RULE, True): 1}
    assert report.paired == {"prompt": 2}


def test_a_hard_label_without_an_opposite_keeps_its_value_and_else_no_row(tmp_path: Path) -> None:
    base, better = fork("a")
    scores = [accepted(base, 1, better), valued(base, 1, 1, 8, 0.2)]
    report = StepReport()
    ledger = planted(tmp_path, [base, better, blamed("bad")], scores)
    rows = [row.label for row in paired_steps(ledger, LabelSettings(), report)]
    assert [(one.trajectory_id, one.label, one.q) for one in rows] == [
        (base.trajectory_id, None, 0.2)
    ]
    assert report.left_out == {"no_opposite_of_its_tool": 2}
    assert +report.labels == {(Tier.INTERVENTIONAL, None): 1}
    assert report.tool_auc[1] is None
