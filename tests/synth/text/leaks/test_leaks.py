"""Planted traces of guidance are all found, wherever they stand; what the transcript itself shows
is none.
"""

from typing import Any

import msgspec
import pytest

from synth.schemas.trajectory import Observation, Source, ToolCall, Turn
from synth.text.leaks import Leak, leaks
from tests.synth.text.leaks.told_leaks import GUIDANCE, call, says, told


def thinks(thought: str) -> Turn:
    return Turn(0, "One moment.", thought=thought)


def does(name: str, **arguments: Any) -> Turn:
    return Turn(0, tool_calls=(call(name, **arguments),))


COPIED = [
    says("Please ask for the colour before you exchange a jacket, because it matters."),
    thinks(
        "I read the notes in /srv/desk: first, and write to desk.lead when the amount is above. "
        "Ask for the colour before you exchange a"
    ),
    does("reply", message="because variant v 6630 is sold out the code word is known"),
    says("ASK FOR THE COLOUR -- before you exchange -- a jacket!"),
    says("You opened order O 8841 although the customer Maria had meant another"),
    does("search", query="refunded 482 15 to card PM 20417 instead of store credit"),
]


REFERENCES = [
    says("In my previous attempt I cancelled the wrong order."),
    says("As the hint says, I will ask first."),
    thinks("The guidance tells me to ask first."),
    thinks("My reflection was that I had acted too early."),
    thinks("Following the lesson, ask before each change."),
    says("Last time I forgot to ask you."),
    thinks("This time I will ask before cancelling."),
    does("reply", message="On my first try I took the wrong one, sorry."),
    thinks("I was advised to look twice."),
    thinks("Applying the lessons learned, look first."),
    thinks("Avoid the same mistake and ask."),
    says("This is my second attempt at this task."),
    thinks("From the earlier trajectory I know what goes wrong."),
    thinks("According to the memo the order was shipped."),
    thinks("I learned that a yes is needed."),
    thinks("unlike the previous run, verify the customer"),
]


LITERALS = [
    says("I will look at O-9173 now."),
    does("get_order", order_id="O-9173"),
    does("get_order", order_id="o-8841"),
    does("search", query="Maria Lopez"),
    says("Is it on card PM-20417?"),
    does("refund", amount=482.15),
    does("refund", amount="482.15"),
    thinks("It is $482.15."),
    does("search", query="/srv/desk/rules.md"),
    does("search", query="returns_policy.txt"),
    does("reply", message="Please write to desk.lead@shop.example."),
    does("refund", amount=1500),
    does("search", query="V-6630"),
    says("Is your code word Blue Heron?"),
    does("search", query="carrier Nordwind"),
    says("It was lost on 2026-03-14, was it not?"),
    does("search", query={"ids": ["V-6630"]}),
    does("search", query={"V-6630": 1}),
    Turn(0, tool_calls=(ToolCall.received("c1", "search", '{"query": "V-6630"'),)),
]


ARGUMENTS = [
    does("cancel_order", order_id="O-9173"),
    does("refund", amount=482.15),
    does("cancel_order", order_id="X/20417"),
]


INVENTED = [
    does("cancel_order", order_id="O-7777"),
    does("refund", amount=913.37),
    does("cancel_order", order_id="O-55121"),
]


PLANTED = [
    *[("copied_text", turn) for turn in COPIED],
    *[("reference_to_help", turn) for turn in REFERENCES],
    *[("literal_of_guidance", turn) for turn in LITERALS],
    *[("unjustified_argument", turn) for turn in ARGUMENTS],
]


def test_there_are_enough_of_them() -> None:
    assert len(PLANTED) >= 40


@pytest.mark.parametrize(
    ("kind", "turn"), PLANTED, ids=lambda value: value if isinstance(value, str) else None
)
def test_every_planted_leak_is_found(kind: str, turn: Turn) -> None:
    found = leaks(told(says("Let me see."), turn))
    assert kind in {leak.kind for leak in found}
    assert {leak.turn for leak in found} == {3}


@pytest.mark.parametrize("turn", INVENTED)
@pytest.mark.parametrize("guidance", [GUIDANCE, None, ""])
def test_what_an_agent_makes_up_by_itself_is_no_leak(turn: Turn, guidance: str | None) -> None:
    assert leaks(told(turn, guidance=guidance)) == ()


def test_an_entity_that_nothing_singles_out_is_a_leak_where_the_guidance_names_it() -> None:
    guess = does("cancel_order", order_id="O-5513")
    named = "The right one of the two is O-5513."
    found = leaks(told(guess, guidance=named))
    assert [(leak.kind, leak.turn) for leak in found] == [("unjustified_choice", 2)]
    assert leaks(told(guess)) == ()


CLEAN = [
    says("I will cancel O-5512. Shall I go ahead?"),
    does("refund", amount=77.25),
    thinks("The first order in the list is the one."),
    says("Is there anything else that I can do for you?"),
    does("get_order", order_id="O-5513"),
    thinks("At this time I cannot do more; I try the next page."),
    does(
        "reply",
        message=(
            "Never cancel an order without a yes of the customer to the details, says our policy."
        ),
    ),
]


@pytest.mark.parametrize("turn", CLEAN)
def test_what_the_transcript_shows_is_no_leak(turn: Turn) -> None:
    assert leaks(told(turn)) == ()


def test_a_literal_is_none_once_the_world_has_shown_it_and_one_before() -> None:
    shown = Turn(0, "Which one?", observations=(Observation("It is O-9173.", Source.USER),))
    assert leaks(told(shown, says("I look at O-9173."))) == ()
    assert leaks(told(says("I look at O-9173."), shown)) == (
        Leak("literal_of_guidance", 2, "O-9173"),
    )


def test_an_error_that_repeats_the_agents_own_literal_shows_nothing() -> None:
    guess = Turn(
        0,
        tool_calls=(call("get_order", order_id="O-9173"),),
        observations=(Observation("error: no O-9173", call_id="c1", error=True),),
    )
    assert [
        (leak.kind, leak.turn) for leak in leaks(told(guess, says("So O-9173 is unknown.")))
    ] == [
        ("literal_of_guidance", 2),
        ("literal_of_guidance", 3),
    ]


def test_what_stands_before_the_pivot_is_not_the_guided_agents_own() -> None:
    assert leaks(told(says("Fine."))) == ()
    early = told(says("Fine."))
    early = msgspec.structs.replace(
        early,
        turns=(
            msgspec.structs.replace(
                early.turns[0], content="In my previous attempt I took O-9173."
            ),
            *early.turns[1:],
        ),
    )
    assert leaks(early) == ()
    assert {leak.kind for leak in leaks(early, since=0)} == {
        "reference_to_help",
        "literal_of_guidance",
    }


def test_after_a_failed_call_an_agent_may_speak_of_an_earlier_attempt_but_of_no_hint() -> None:
    failing = Turn(
        0,
        tool_calls=(call("get_order", order_id="O-5512"),),
        observations=(Observation("error: timed out", call_id="c1", error=True),),
    )
    assert leaks(told(failing, says("My previous attempt failed."))) == ()
    assert [leak.kind for leak in leaks(told(failing, says("The hint says so.")))] == [
        "reference_to_help"
    ]


def test_a_yes_to_the_entity_that_the_agent_named_justifies_no_choice() -> None:
    proposal = Turn(0, "Shall I cancel O-5513?", observations=(Observation("Yes.", Source.USER),))
    turns = (proposal, does("cancel_order", order_id="O-5513"))
    found = leaks(told(*turns, guidance="Take O-5513."))
    assert [(leak.kind, leak.turn) for leak in found] == [("unjustified_choice", 3)]


def test_a_short_guidance_is_one_run_of_words() -> None:
    assert [
        leak.kind
        for leak in leaks(told(says("so first ask, then act!"), guidance="First ask, then act."))
    ] == ["copied_text"]


def test_without_guidance_only_references_can_be_found() -> None:
    assert leaks(told(says("I look at O-9173."), guidance=None)) == ()
    found = leaks(told(thinks("The hint says so."), guidance=None))
    assert [leak.kind for leak in found] == ["reference_to_help"]
