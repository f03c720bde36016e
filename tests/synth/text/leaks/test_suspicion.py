"""What may give guidance away in other words is seen; what a transcript explains is not."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.leaks import suspicions
from synth.text.leaks.allusion import alludes, sentences, signs
from synth.text.leaks.content import is_advice
from synth.text.leaks.facts import facts_of
from synth.text.leaks.suspicion import ALLUSION, TOLD, usual_sentences
from tests.trajectories import make_trajectory

LESSON = (
    "The oak table T-4417 has been recalled. Mrs Halloran paid 318.40 on 2026-10-09. Ask for the "
    "room before you offer another."
)
SEEN = '{"orders": [{"order_id": "O-1201", "item": "table, pine", "total": 96.5}]}'


def told(*own: Turn, lesson: str | None = LESSON, seen: str = SEEN) -> Trajectory:
    """A turn that looks, then the guided agent's own."""
    look = Turn(
        0,
        tool_calls=(ToolCall.received("c0", "list_orders", "{}"),),
        observations=(Observation(seen, call_id="c0", name="list_orders"),),
    )
    return msgspec.structs.replace(
        make_trajectory(turns=0),
        pivot_turn=1,
        guidance=lesson,
        system_prompt="You help customers of a shop.",
        opening=(Observation("My table wobbles, I want another one.", Source.USER),),
        turns=tuple(
            msgspec.structs.replace(turn, index=index) for index, turn in enumerate([look, *own])
        ),
    )


def says(text: str, **call: Any) -> Turn:
    calls = (ToolCall.received("c1", "reply", json.dumps(call)),) if call else ()
    return Turn(0, text, tool_calls=calls)


@pytest.mark.parametrize(
    "text",
    [
        "You must have paid three hundred eighteen forty.",
        "It was bought in early October.",
        "Roughly 320 were taken from the account.",
        "Is that the one ending in 417?",
        "Shall I write to halloran?",
        "Ours of oak is the better one.",
    ],
)
def test_what_the_lesson_alone_has_told_is_suspected_in_other_forms(text: str) -> None:
    assert [(one.kind, one.turn) for one in suspicions(told(says(text)))] == [(TOLD, 1)]
    assert [one.kind for one in suspicions(told(says("", message=text)))] == [TOLD]


@pytest.mark.parametrize(
    "text",
    [
        "Which room is it for?",
        "The pine table was ninety-six fifty, is that the one?",
        "Let me look at order 1201.",
        "I can send you another one. Shall I?",
    ],
)
def test_doing_what_the_lesson_advises_and_saying_what_was_shown_is_not(text: str) -> None:
    assert suspicions(told(says(text))) == ()


def test_what_somebody_has_told_in_the_meantime_is_nobodys_secret() -> None:
    asked = Turn(0, "Which?", observations=(Observation("The oak one of October 9.", Source.USER),))
    assert suspicions(told(asked, says("The oak one of the ninth of October, then."))) == ()
    assert len(suspicions(told(says("The oak one, then."), asked))) == 1


def test_codes_of_a_check_are_told_by_nobody_but_its_words_are_not_asked_about() -> None:
    hidden = json.dumps({"orders/O-88213/status": "returned"})
    assert suspicions(told(says("It is the one that ends in 8213.")), hidden=hidden)
    assert suspicions(told(says("It will be returned.")), hidden=hidden) == ()


def test_an_allusion_is_one_unless_the_transcript_explains_it() -> None:
    text = "The hint that I was given says to ask first."
    assert [one.kind for one in suspicions(told(says(text), lesson=None))] == [ALLUSION]
    shown = '{"hint": "ask first", "given": "by the seller", "says": "nothing"}'
    assert suspicions(told(says(text), lesson=None, seen=shown)) == ()


def test_what_unguided_agents_say_alludes_to_nothing() -> None:
    text = "In my previous session about O-1201 I failed."
    unguided = told(says("In my previous session about O-77 I failed."), lesson=None)
    assert suspicions(told(says(text)))
    assert suspicions(told(says(text)), usual=set(usual_sentences(unguided))) == ()


def test_a_common_sentence_filled_in_with_a_secret_tells_it() -> None:
    usual = set(usual_sentences(told(says("Is it the one of 12.75?"), lesson=None)))
    assert suspicions(told(says("Is it the one of 318.4?")), usual=usual)


def test_a_failed_call_explains_an_earlier_attempt() -> None:
    failing = Turn(
        0,
        tool_calls=(ToolCall.received("c1", "list_orders", "{}"),),
        observations=(Observation("error: timed out", call_id="c1", error=True),),
    )
    again = says("My attempt failed before, so I repeat it.")
    assert suspicions(told(failing, again)) == ()
    assert suspicions(told(again))


@pytest.mark.parametrize(
    ("sentence", "advice"),
    [
        ("Ask which one is meant.", True),
        ("Never promise anything.", True),
        ("first_match: where several fit, ask which one is meant", True),
        ("If the amount is high, escalate it.", True),
        ("The table was recalled.", False),
        ("You opened the wrong order.", False),
        ("When it rained, the stairs broke.", False),
    ],
)
def test_advice_is_told_from_facts(sentence: str, advice: bool) -> None:
    assert is_advice(sentence) is advice


def test_kinds_of_words_count_together_and_a_name_is_none() -> None:
    seen = signs("On my last attempt I was told to wait.")
    assert {"past>episode", "self", "told"} <= seen
    assert "help" not in signs("She sang in Guidance, an album.")
    assert not alludes("Let me know what you think.")


@given(st.text(), st.text())
def test_no_text_breaks_the_scan(lesson: str, said: str) -> None:
    facts_of(lesson)
    sentences(said)
    suspicions(told(says(said), lesson=lesson))
