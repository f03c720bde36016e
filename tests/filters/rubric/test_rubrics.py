"""Rubrics as data, the rules among their items, how draws become values, and agreement with gold;
worked out by hand.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.filters.rubric.algorithmic import (
    redundancy,
    step_efficiency,
    task_pass_rate,
    tool_calling_f1,
)
from synth.filters.rubric.rubric import read_rubric, shipped
from synth.filters.rubric.scoring import item_measure, overall, sampling_weight
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import ToolCall
from synth.stats.agreement import agreement, kappa
from tests.filters.rubric.judged_cases import call, case


def test_f1_matches_calls_as_a_multiset_whatever_the_order_of_arguments() -> None:
    made = [call("a", x=1, y=2), call("a", x=1, y=2), call("b")]
    gold = [ToolCall.received("c", "a", '{"y": 2, "x": 1}'), call("b"), call("d")]
    assert tool_calling_f1(case(made, gold)).value == pytest.approx(2 * 2 / (3 + 3))
    assert tool_calling_f1(case(made, None)).reason == "no_gold_calls"
    assert tool_calling_f1(case([], [])).value == 1.0


def test_efficiency_is_that_of_successes_alone() -> None:
    assert step_efficiency(case([call("a")] * 4, [call("a")])).value == 0.25
    assert step_efficiency(case([call("a")], [call("a")] * 4)).value == 1.0
    assert step_efficiency(case([call("a")], [call("a")], solved=False)).reason == "no_success"
    assert redundancy(case([call("a")] * 4, None, solved=False)).reason == "no_success"


def test_an_act_is_redundant_where_it_comes_again_in_the_same_state() -> None:
    assert redundancy(
        case([call("a"), call("a"), call("a")], None, answers=["x", "x", "x"])
    ).value == pytest.approx(2 / 3)
    assert (
        redundancy(case([call("a"), call("b"), call("a")], None, answers=["x", "y", "z"])).value
        == 1.0
    )
    assert redundancy(case([], None)).reason == "no_calls"
    assert task_pass_rate(case([], None)).value == 1.0


def test_the_median_of_three_and_the_majority_of_choices() -> None:
    fintrace, bench = read_rubric("fintrace"), read_rubric("agent_reward_bench")
    progress = next(item for item in fintrace.judged if item.name == "progress")
    found = item_measure(fintrace, progress, [1, 5, 4], [])
    assert (found.metric, found.value, found.about.spread) == (
        "fintrace.progress",
        4.0,
        4.0,
    )
    assert item_measure(fintrace, progress, [5], []).value == 5.0
    success = bench.judged[0]
    assert (
        item_measure(bench, success, ["Successful", "Unsuccessful", "Successful"], []).value == 1.0
    )
    tied = item_measure(bench, success, ["Successful", "Unsuccessful"], ["x"])
    assert (tied.value, tied.about.reason) == (None, "tie")


def test_the_score_is_the_mean_of_items_from_0_to_1_with_bad_answers_turned_round() -> None:
    bench = read_rubric("agent_reward_bench")
    values: dict[str, float | None] = {
        "trajectory_success": 1.0,
        "trajectory_side_effect": 1.0,
        "trajectory_optimality": 3.0,
        "trajectory_looping": 0.0,
    }
    assert overall(bench, values).value == pytest.approx((1 + 0 + 2 / 3 + 1) / 4)
    assert overall(bench, {**values, "trajectory_success": None}).value is None


@pytest.mark.parametrize(("median", "weight"), [(1.0, 0.0), (2.0, 0.0), (3.5, 0.5), (5.0, 1.0)])
def test_a_failure_weighs_nothing(median: float, weight: float) -> None:
    fintrace = read_rubric("fintrace")
    values = {item.name: median for item in fintrace.items}
    found = sampling_weight(fintrace, values)
    assert found is not None
    assert found.value == pytest.approx(weight)
    assert sampling_weight(read_rubric("agent_reward_bench"), {}) is None


def test_kappa_by_hand() -> None:
    items = (
        [("t", True, True)] * 20
        + [("t", True, False)] * 5
        + [("t", False, True)] * 10
        + [("t", False, False)] * 15
    )
    assert kappa(items) == pytest.approx(0.4)  # the textbook table: agreement .7, by chance .5
    assert kappa([("t", True, True)] * 9) is None
    assert kappa([]) is None


def test_a_judge_that_accepts_everything_may_decide_nothing() -> None:
    items = [(f"t{i}", True, i % 2 == 0) for i in range(100)]
    found = agreement(items, 1)
    assert (found.kappa, found.false_accepts, found.failures) == (0.0, 50, 50)
    assert found.why_not(50, 0.4) == "kappa 0.00 is below 0.4"
    few = agreement([(f"t{i}", i % 2 == 0, i % 2 == 0) for i in range(49)], 1)
    assert (few.kappa, few.why_not(50, 0.4)) == (1.0, "49 gold-decided trajectories, 50 are needed")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=30))
def test_kappa_lies_between_minus_one_and_one_and_is_one_only_for_full_agreement(
    items: list[tuple[str, bool, bool]],
) -> None:
    found = kappa(items)
    if found is not None:
        assert -1 <= found <= 1
        assert (found == pytest.approx(1)) == all(judge == gold for _, judge, gold in items)


def test_every_shipped_rubric_is_one() -> None:
    assert shipped() == ["agent_reward_bench", "fintrace", "stagewise", "tool_safety"]
    found = {name: read_rubric(name) for name in shipped()}
    assert (
        len(found["fintrace"].items),
        len(found["fintrace"].axes),
        len(found["agent_reward_bench"].judged),
    ) == (9, 4, 4)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name: [", "not valid YAML"),
        ("", "must be a mapping"),
        ("name: x\naxes: {}", "axes"),
        (
            "name: x\naxes: {a: [{name: q, kind: judged, question: w}, {name: q, kind: judged, "
            "question: w}]}",
            "stands there twice",
        ),
        (
            "name: x\naxes: {a: [{name: q, kind: judged, question: w}]}\ndecides: {item: q, "
            "accept: [9]}",
            "9 is no answer of q",
        ),
        (
            "name: x\naxes: {a: [{name: q, kind: judged, question: w, scale: {low: 5, high: 5}}]}",
            "low must be less than high",
        ),
    ],
)
def test_a_rubric_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=what) as caught:
        read_rubric(str(path))
    assert "\n" not in str(caught.value)


def test_names_and_paths_that_are_not_there() -> None:
    with pytest.raises(ConfigError, match="known: agent_reward_bench, fintrace"):
        read_rubric("nothing")
    with pytest.raises(ConfigError, match=r"cannot be read"):
        read_rubric("/nowhere/mine.yaml")
