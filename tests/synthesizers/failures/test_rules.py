"""What each mode's rule puts in the place of a turn of the hand-made desk, and where it applies at
all.
"""

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Termination
from synth.schemas.trajectory import ToolCall, Trajectory
from synth.synthesizers.failures.mistakes.modes import RULES
from synth.synthesizers.failures.mistakes.point import InjectionPoint, Mistake, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript, with_value
from synth.text.failure_modes import MODES, SINGLE_AGENT, mast_weights
from tests.synthesizers.failures.twins import desk_twin, did, site
from tests.trajectories import make_trajectory, turns

LAST = 6


def applies_at(code: str) -> list[int]:
    return [at for at in range(7) if RULES[code](site(at), Random(0)) is not None]


def all_of(code: str, at: int, **fields: Any) -> set[tuple[str, str]]:
    """(tool, arguments) of everything that the rule may draw there."""
    drawn = [RULES[code](site(at, **fields), Random(seed)) for seed in range(60)]
    return {
        (call.name, call.arguments)
        for mistake in drawn
        if mistake is not None
        for call in mistake.turn.tool_calls
    }


def one(code: str, at: int) -> Mistake:
    mistake = RULES[code](site(at), Random(0))
    assert mistake is not None
    return mistake


CANCEL = '{"order_id":"O-1","reason":"mistake"}'


def test_every_single_agent_mode_has_a_rule_and_no_other_mode_has() -> None:
    assert set(RULES) == set(SINGLE_AGENT)
    assert {code for code in MODES if code not in RULES} == {"FM-1.2", "FM-2.4", "FM-2.5"}


def test_weights_are_the_frequencies_renormalised_over_the_single_agent_modes() -> None:
    printed = {
        "FM-1.1": 0.123,
        "FM-1.3": 0.164,
        "FM-1.4": 0.029,
        "FM-1.5": 0.129,
        "FM-2.1": 0.023,
        "FM-2.2": 0.071,
    }
    printed |= {"FM-2.3": 0.077, "FM-2.6": 0.138, "FM-3.1": 0.065, "FM-3.2": 0.086, "FM-3.3": 0.095}
    assert {code: round(weight, 3) for code, weight in mast_weights().items()} == pytest.approx(
        printed, abs=0.0011
    )
    assert sum(mast_weights().values()) == pytest.approx(1)


@pytest.mark.slow
def test_disobedience_writes_on_another_seen_order_or_for_another_of_the_tools_reasons() -> None:
    expected = {"O-2": "mistake", "O-3": "mistake", "O-1": "late"}
    assert all_of("FM-1.1", 4) == {
        ("cancel_order", json.dumps({"order_id": o, "reason": r}, separators=(",", ":")))
        for o, r in expected.items()
    }
    assert applies_at("FM-1.1") == [4]


def test_repetition_does_a_former_write_again_and_applies_only_after_one() -> None:
    assert applies_at("FM-1.3") == [5, 6]
    assert all_of("FM-1.3", 5) == {
        ("cancel_order", json.dumps({"order_id": "O-1", "reason": "mistake"}))
    }


def test_forgetting_asks_again_where_no_older_value_can_be_written() -> None:
    assert all_of("FM-1.4", 5) == {
        ("list_orders", '{"customer_id": "C-9"}'),
        ("get_order", '{"order_id": "O-1"}'),
        ("verify_identity", '{"customer_id": "C-9", "value": "555-1"}'),
    }


def test_going_on_after_the_end_writes_once_more_on_something_else_and_only_there() -> None:
    assert applies_at("FM-1.5") == [LAST]
    assert {name for name, _ in all_of("FM-1.5", LAST)} == {"cancel_order"}
    assert CANCEL not in {arguments for _, arguments in all_of("FM-1.5", LAST)}


def test_reset_begins_again_with_the_first_turn() -> None:
    assert all_of("FM-2.1", 4) == {("list_orders", '{"customer_id": "C-9"}')}
    assert applies_at("FM-2.1") == [2, 3, 4, 5, 6]


def test_not_asking_does_the_write_that_the_question_was_about() -> None:
    assert applies_at("FM-2.2") == [3]
    assert all_of("FM-2.2", 3) == {("cancel_order", '{"order_id": "O-1", "reason": "mistake"}')}


def test_what_only_the_answer_would_tell_is_guessed_among_what_was_seen() -> None:
    twin = desk_twin()
    late = did(4, "cancel_order", {"order_id": "O-77", "reason": "mistake"}, {"ok": True})
    told = {"turns": (*twin.turns[:4], late, *twin.turns[5:])}
    assert {json.loads(arguments)["order_id"] for _, arguments in all_of("FM-2.2", 3, **told)} == {
        "O-1",
        "O-2",
        "O-3",
    }


def test_derailment_acts_on_an_order_that_neither_the_goal_nor_the_clean_run_names() -> None:
    assert {
        (name, json.loads(arguments)["order_id"]) for name, arguments in all_of("FM-2.3", 4)
    } == {
        ("cancel_order", "O-2"),
        ("cancel_order", "O-3"),
    }


def test_derailment_takes_what_the_world_says_could_be_done_and_writes_first() -> None:
    strays = {"order_id": "O-3", "reason": "late"}
    calls = [
        ("get_order", {"order_id": "O-3"}),
        ("cancel_order", strays),
        ("cancel_order", {"order_id": "O-1"}),
    ]
    possible = [
        AgentTurn(tool_calls=(ToolCall.received("x", name, json.dumps(arguments)),))
        for name, arguments in calls
    ]
    drawn = {
        RULES["FM-2.3"](InjectionPoint(InjectionTranscript(desk_twin()), 2, possible), Random(seed))
        for seed in range(20)
    }
    assert {mistake.turn.tool_calls[0].arguments for mistake in drawn if mistake is not None} == {
        '{"order_id": "O-3", "reason": "late"}'
    }


def test_mismatch_does_other_than_was_said_the_turn_before() -> None:
    assert applies_at("FM-2.6") == [4]
    assert {json.loads(arguments)["order_id"] for _, arguments in all_of("FM-2.6", 4)} == {
        "O-2",
        "O-3",
    }


def test_mismatch_keeps_the_thought_that_it_goes_against() -> None:
    twin = desk_twin()
    thinks = did(
        4,
        "cancel_order",
        {"order_id": "O-1", "reason": "mistake"},
        {"ok": True},
        thought="O-1 it is.",
    )
    mistake = RULES["FM-2.6"](site(4, turns=(*twin.turns[:4], thinks, *twin.turns[5:])), Random(0))
    assert mistake is not None
    assert mistake.turn.thought == "O-1 it is."


def test_ending_early_is_the_twins_own_end_wherever_something_is_left() -> None:
    assert applies_at("FM-3.1") == [0, 1, 2, 3, 4, 5]
    assert all_of("FM-3.1", 0) == {("finish", '{"message": "Goodbye!"}')}


def test_a_world_that_ends_by_itself_has_no_early_end_and_no_going_on() -> None:
    twin = desk_twin()
    fields = {"turns": twin.turns[:5], "termination": Termination.DONE}
    assert [
        RULES[code](site(at, **fields), Random(0))
        for code in ("FM-3.1", "FM-1.5")
        for at in range(5)
    ] == [None] * 10


def test_not_looking_writes_in_place_of_a_look_up_or_a_verification() -> None:
    assert applies_at("FM-3.2") == [0, 1, 2]
    assert all_of("FM-3.2", 2) == {("cancel_order", '{"order_id": "O-1", "reason": "mistake"}')}


def test_wrong_verification_gives_a_wrong_factor_or_tells_a_wrong_amount() -> None:
    assert applies_at("FM-3.3") == [2, 5, 6]
    assert {json.loads(arguments)["message"] for _, arguments in all_of("FM-3.3", 5)} == {
        "Order O-1 is cancelled, you get 80.10 back."
    }


def test_the_last_message_confirms_wrongly_what_was_told_before() -> None:
    assert all_of("FM-3.3", LAST) == {
        ("finish", '{"message":"Order O-1 is cancelled, you get 80.10 back."}')
    }


def test_no_mistake_is_the_recorded_turn_and_all_say_what_is_wrong() -> None:
    for code, rule in RULES.items():
        for at in range(7):
            for seed in range(20):
                mistake = rule(site(at), Random(seed))
                if mistake is not None:
                    recorded = desk_twin().turns[at]
                    assert not same_act(
                        mistake.turn, AgentTurn(recorded.content, recorded.tool_calls)
                    ), (code, at)
                    assert mistake.what


def test_calls_of_a_mistake_have_ids_of_their_own_that_say_nothing() -> None:
    (call,) = one("FM-1.3", 5).turn.tool_calls
    assert call.call_id.startswith("call_")
    assert call.call_id not in {turn.tool_calls[0].call_id for turn in desk_twin().turns}


@pytest.mark.slow
@given(
    st.lists(turns, min_size=1, max_size=6),
    st.integers(0, 5),
    st.sampled_from(sorted(RULES)),
    st.integers(0, 3),
)
def test_rules_take_any_trajectory_and_give_turns_that_can_be_put(
    made: list[Any], at: int, code: str, seed: int
) -> None:
    twin = _numbered(made)
    mistake = RULES[code](
        InjectionPoint(InjectionTranscript(twin), min(at, len(made) - 1)), Random(seed)
    )
    if mistake is not None:
        assert mistake.turn.content or mistake.turn.tool_calls
        assert mistake == RULES[code](
            InjectionPoint(InjectionTranscript(twin), min(at, len(made) - 1)), Random(seed)
        )


def _numbered(made: list[Any]) -> Trajectory:
    numbered = tuple(msgspec.structs.replace(turn, index=at) for at, turn in enumerate(made))
    return msgspec.structs.replace(make_trajectory(), turns=numbered)


keys = st.text("ab", min_size=1, max_size=2)
documents = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(documents)
def test_changing_one_scalar_leaves_the_others(document: Any) -> None:
    arguments = {"top": document, "other": 1}
    assert with_value(arguments, "other", 2) == {"top": document, "other": 2}
    with pytest.raises(KeyError):
        with_value(arguments, "nowhere", 2)
