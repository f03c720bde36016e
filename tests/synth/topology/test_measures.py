"""Measures of trials and of tasks, each worked out by hand."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.trajectory import Observation, Turn
from synth.topology.graph import GraphTrial, graph_of
from synth.topology.keys import trajectory_keys
from synth.topology.nondeterminism.masking import Masking, Nondeterminism
from synth.topology.potential import Potential
from synth.topology.task_measures import (
    error_branch_ratio,
    mixed_group_probability,
    strategic_heterogeneity,
)
from synth.topology.trajectory_measures import (
    Excursion,
    efficiency,
    excursions,
    process_kept,
    recovered,
    strategy,
)
from tests.synth.topology.trials import trial, turn


def writes(tool: str) -> bool:
    return tool.startswith("set")


def test_efficiency_is_measured_against_the_shortest_other_success() -> None:
    assert efficiency(8, [6, 4]) == 0.5
    assert efficiency(3, [4]) == 1.0
    assert efficiency(3, []) is None


def test_a_success_that_broke_the_process_is_no_yardstick() -> None:
    broken = CheckResult(True, (SubVerdict("state", True), SubVerdict("process", False)))
    assert not process_kept(trial("1", "a", True, check_result=broken))
    assert process_kept(
        trial("2", "a", True, check_result=CheckResult(True, (SubVerdict("state", True),)))
    )
    assert process_kept(trial("3", "a", True))


def test_a_strategy_is_its_writes_in_order_and_the_set_of_its_reads() -> None:
    failed = Turn(
        3,
        tool_calls=turn(3, "set_b").tool_calls,
        observations=(Observation("no", call_id="c3", error=True),),
    )
    one = trial(
        "1",
        [
            turn(0, "get_x"),
            turn(1, "set_a"),
            turn(2, "get_x"),
            failed,
            turn(4, "set_c"),
            turn(5, "get_b"),
        ],
        True,
    )
    assert strategy(one, writes) == (("set_a", "set_c"), ("get_b", "get_x"))


def with_potential(
    turns: list[Turn], values: list[float | None], **changes: Any
) -> tuple[list[Excursion], bool]:
    one = trial("1", turns, True, **changes)
    potential = Potential("1", 7, 0.5, tuple(values), (3,) * len(values), 1.0)
    found = excursions(trajectory_keys(one), potential)
    return found, recovered(one, found)


def test_an_excursion_lasts_from_the_fall_to_the_return_and_a_re_read_makes_it_a_recovery() -> None:
    turns = [
        turn(0, "get_x", "s"),
        turn(1, "set_a", "t"),
        turn(2, "get_x", "s"),
        turn(3, "set_b", "u"),
    ]
    assert with_potential(turns, [0.1, -0.2, -0.1, 0.1]) == ([Excursion(1, 3, ("re_read",))], True)


def test_a_blind_retry_is_no_recovery() -> None:
    turns = [turn(0, "get_x"), turn(1, "set_a"), turn(2, "set_a"), turn(3, "set_b")]
    found, back = with_potential(turns, [0.1, -0.2, -0.2, 0.1])
    assert (found, back) == ([Excursion(1, 3)], False)


def test_a_fall_without_a_return_and_a_failure_after_one_are_no_recovery() -> None:
    turns = [turn(0, "get_x"), turn(1, "set_a"), turn(2, "get_x")]
    assert with_potential(turns, [0.1, -0.2, -0.2]) == ([Excursion(1, None)], False)
    one = trial(
        "1", [turn(0, "get_x"), turn(1, "set_a"), turn(2, "get_x"), turn(3, "set_b")], False
    )
    assert not recovered(one, [Excursion(1, 3, ("re_read",))])


def test_going_back_to_a_former_state_is_an_undo() -> None:
    turns = [
        turn(0, "set_a", state="s1"),
        turn(1, "set_b", state="s2"),
        turn(2, "set_a", state="s1"),
        turn(3, "set_c", state="s3"),
    ]
    found, back = with_potential(turns, [0.2, -0.1, -0.1, 0.2])
    assert (found, back) == ([Excursion(1, 3, ("undo",))], True)


def test_turns_that_few_donors_came_by_are_not_looked_at() -> None:
    one = trial("1", "ab", True)
    assert excursions(trajectory_keys(one), Potential("1", 7, 0.5, (0.3, -0.3), (3, 1), 1.0)) == []


def test_the_error_branch_ratio_counts_children_that_never_succeed_beside_one_that_does() -> None:
    trials = [
        GraphTrial("1", True, ("a", "b")),
        GraphTrial("2", False, ("a", "c")),
        GraphTrial("3", False, ("a", "d")),
        GraphTrial("4", False, ("x", "y")),
    ]
    # branching: START (a succeeds, x never) and a (b succeeds, c and d never): 3 wrong of 5
    assert error_branch_ratio(graph_of("t", trials)) == pytest.approx(3 / 5)
    assert error_branch_ratio(graph_of("t", trials[:1])) is None


def test_in_a_crowd_a_child_that_one_trial_took_is_no_evidence() -> None:
    trials = [GraphTrial(str(n), True, ("a", "b")) for n in range(6)] + [
        GraphTrial("7", False, ("a", "c")),
        GraphTrial("8", False, ("a", "c")),
    ]
    assert error_branch_ratio(graph_of("t", trials)) == pytest.approx(1 / 2)
    assert (
        error_branch_ratio(graph_of("t", [*trials[:7], GraphTrial("8", False, ("a", "d"))])) is None
    )


def test_heterogeneity_needs_three_successes() -> None:
    assert strategic_heterogeneity(["x", "y", "x", "x"]) == 0.5
    assert strategic_heterogeneity(["x", "y"]) is None


@pytest.mark.slow
def test_the_chance_of_a_mixed_group_is_that_of_the_posterior() -> None:
    # uniform prior and posterior: E[p^2] = 1/3, twice, so 1/3 is mixed
    assert mixed_group_probability(0, 0, 2) == pytest.approx(1 / 3)
    rng = Random(3)
    draws = [rng.betavariate(1 + 2, 1 + 6) for _ in range(200_000)]
    simulated = sum(1 - p**8 - (1 - p) ** 8 for p in draws) / len(draws)
    assert mixed_group_probability(2, 8, 8) == pytest.approx(simulated, abs=0.005)
    # rigor.md: .34 at p = .05 and .90 at p = .25, known for certain
    assert mixed_group_probability(50_000, 1_000_000, 8) == pytest.approx(0.34, abs=0.005)
    assert mixed_group_probability(250_000, 1_000_000, 8) == pytest.approx(0.90, abs=0.005)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 16))
def test_a_chance_is_between_nothing_and_one(successes: int, failures: int, group: int) -> None:
    assert -1e-12 <= mixed_group_probability(successes, successes + failures, group) <= 1


def test_generated_identifiers_are_numbered_by_first_appearance() -> None:
    masking = Masking(Nondeterminism(generated={"ticket": r"TK-\d+"}))
    assert [masking.text(text) for text in ("TK-88 and TK-12", "TK-12")] == [
        "<ticket 1> and <ticket 2>",
        "<ticket 2>",
    ]
