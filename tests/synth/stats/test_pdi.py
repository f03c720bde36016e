"""The online proxy, the offline index and new evidence, with numbers worked out by hand from the
formulas.
"""

from math import log, sqrt

import msgspec
import pytest

from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Turn
from synth.stats.pdi import (
    PdiStep,
    Phis,
    coverage,
    indices,
    jaccard,
    js_similarity,
    phis,
    snapshots,
)
from synth.text.provenance.evidence import new_evidence
from tests.trajectories import make_trajectory

NONE, A, AB, B = frozenset[str](), frozenset({"a"}), frozenset({"a", "b"}), frozenset({"b"})


def test_coverage_is_the_share_of_the_facts_that_the_commands_hold() -> None:
    assert coverage("get O-7 now", "O-7 paid") == pytest.approx(2 / 3)  # o and 7 of o, 7, paid
    assert (coverage("get", ""), jaccard([], [])) == (0.0, 0.0)


def test_js_similarity_is_one_for_the_same_words_and_about_one_minus_ln_2_for_others() -> None:
    assert js_similarity("go left", "Left! go") == pytest.approx(1.0)
    p = 1.002 / 1.004  # one word each, smoothed over two
    q = 1 - p
    assert js_similarity("left", "right") == pytest.approx(1 - (p * log(2 * p) + q * log(2 * q)))
    assert js_similarity("left", "right") == pytest.approx(1 - log(2), abs=0.02)
    assert (js_similarity("same", "same"), js_similarity("", "")) == (0.0, 0.0), (
        "one word is too few"
    )


def test_the_first_step_is_the_plain_difference_and_has_no_weight() -> None:
    (first,) = snapshots([PdiStep("buy", "buy sell", "try")])
    assert (first.exec, first.plan, first.oss, first.raw, first.weight, first.weighted) == (
        0.5,
        0.0,
        0.0,
        0.5,
        0.0,
        0.0,
    )
    assert (first.triggered, first.level, first.defined) == (False, None, False)


STUCK = [
    PdiStep("a b", "a b", "go left", A),
    PdiStep("a", "a b", "go left", A),
    PdiStep("a b c", "a b c d", "go left", AB),
]
"""exec 1, .5, .75; plan 0, 1, 1; oss 0, 1, .5 * 2/4 + .5 * 1/2 = .5."""


def test_every_step_is_scored_among_the_steps_so_far() -> None:
    found = snapshots(STUCK)
    assert [(one.exec, one.plan, one.oss) for one in found] == [
        (1.0, 0.0, 0.0),
        (0.5, 1.0, 1.0),
        (0.75, 1.0, 0.5),
    ]
    assert found[1].raw == pytest.approx(-3.0), "with two steps every z is 1 or -1"
    assert (found[1].weight, found[1].weighted) == (0.5, pytest.approx(-1.5))
    assert found[2].raw == pytest.approx(
        0 - 1 / sqrt(2) - 0
    )  # exec and oss are at their means; plan 1 among 0, 1, 1: (1/3) / (sqrt(2)/3)
    assert (found[2].weight, found[2].weighted) == (1.0, pytest.approx(-1 / sqrt(2)))


def test_two_attempts_trigger_nothing_unless_asked_and_a_second_trigger_in_a_row_is_strong() -> (
    None
):
    assert [one.level for one in snapshots(STUCK)] == [None, None, "soft"]
    assert [one.level for one in snapshots(STUCK, least_attempts=2)] == [None, "soft", "strong"]
    moving = [*STUCK, PdiStep("x y", "x y", "look elsewhere", NONE)]
    assert snapshots(moving, least_attempts=2)[3].level is None


def test_the_other_backend_compares_distributions_everywhere() -> None:
    found = snapshots(STUCK, "js_divergence")
    assert found[0].exec == pytest.approx(1.0)
    assert (found[1].plan, found[1].oss) == (
        pytest.approx(1.0),
        pytest.approx(0.5),
    )  # one name alone is too few words: .5 * 1 + .5 * 0
    assert found[1].exec == pytest.approx(js_similarity("a", "a b"))


def test_a_memo_without_facts_absorbs_nothing() -> None:
    assert snapshots([PdiStep("a b", "", "x")])[0].exec == 0.0


def test_the_index_needs_three_attempts_a_skill_and_twenty_tasks() -> None:
    steps = [
        PdiStep("a b", "a b", "go left", A),
        PdiStep("a", "a b", "go right", A),
        PdiStep("a b", "c d", "go up", B),
    ]
    found = phis(steps, "look then buy", "look then buy")
    assert found is not None
    assert found.exec == pytest.approx(1.0)
    assert found.oss == pytest.approx(
        (0.5 * 1 + 0.5 * 0 + 0.5 * js_similarity("a b", "c d") + 0.5 * js_similarity("a", "b")) / 2
    )
    assert phis(steps[:1], "x", "some skill") is None, "with the success two attempts"
    assert phis(steps[:2], "x", "some skill") is not None
    assert phis(steps, "x", " ") is None
    population = {f"t{i}": Phis(float(i % 2), 0.5, 1.0) for i in range(20)}
    assert indices({name: population[name] for name in list(population)[:19]}) == {}
    one = indices(population)["t1"]
    assert (one.value, one.tasks, one.means.exec, one.deviations.exec) == (
        1.0,
        20,
        0.5,
        0.5,
    )  # plan and oss do not vary: z = 0


def turn(index: int, name: str, arguments: str, answer: str) -> Turn:
    call = ToolCall.received(f"c{index}", name, arguments)
    return Turn(
        index,
        tool_calls=(call,),
        observations=(Observation(answer, call_id=call.call_id, name=name),),
    )


def test_new_evidence_counts_what_an_attempt_first_saw_and_a_change_was_made_with() -> None:
    look, pay = (
        turn(0, "get_order", "{}", '{"item": "I-4711"}'),
        turn(1, "update_order", '{"item": "I-4711"}', "ok"),
    )
    again = turn(1, "get_user", "{}", '{"address": "A-2304"}')
    move = turn(2, "update_address", '{"address": "A-2304", "item": "I-4711"}', "ok")
    first = _attempt("a", look, pay)
    second = _attempt("b", look, again, move, pivot_turn=1, parent_id="a")
    assert new_evidence([first, second]) == [
        0.5,
        0.5,
    ]  # I-4711 was first seen in the first; A-2304 in the second, in 2 turns of its own
    assert new_evidence([first]) == [0.5]


def _attempt(slot: str, *turns: Turn, **fields: object) -> Trajectory:
    return msgspec.structs.replace(make_trajectory(slot, turns=0, tools=(), **fields), turns=turns)
