"""A wording of the customer's line is let through where it says what the line says, and nothing
else; a departure is named by its kind.
"""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.customer import GOODBYE, LINES, PUSH_BACK, YES, detail_words
from synth.envs.storefront.customer.line_content import KINDS, deviations, most_words
from synth.envs.storefront.customer.script import read_script
from synth.schemas.model import Completion
from synth.schemas.trajectory import ToolCall

ACCEPTED, GO_ON, NOT_YET_DONE, PHRASES, REMINDER, UNKNOWN = (
    LINES["accepted"],
    LINES["go_on"],
    LINES["not_yet_done"],
    LINES["details"],
    LINES["reminder"],
    LINES["unknown"],
)

EMAIL = "My email is ada.brook4711@mail.example."
ITEM_AND_COLOUR = "The blue one. In red, please."
STREET = "The one at 19 Park Road."
DAY = "The one I placed on 2026-03-05."
CARD = "To my card ending in 8759, as I said."
PHONE, CITY, COLOUR, ENDING = (
    "My phone is 555-525-1175.",
    "To my address in Graz.",
    "In green, please.",
    "The one ending in 8759.",
)
CHANGE = "Wait, I changed my mind about request 1: make it blue instead."
WITHDRAWN = "No, on second thought, leave request 2 as it is; I do not want it any more."
SENT_INSTEAD = (
    "Wait, I changed my mind about request 3: do not cancel it, but send it to my address in Graz."
)


def kinds(line: str, said: str) -> set[str]:
    return {found.kind for found in deviations(line, Completion(content=said))}


@cache
def lines() -> tuple[str, ...]:
    """What the rule-based customer can say in 240 tasks of both variants."""
    found = {YES, GO_ON, UNKNOWN, *PUSH_BACK, ACCEPTED, NOT_YET_DONE, GOODBYE, EMAIL}
    for variant in ("train", "held_out"):
        for task in WORLD.make_tasks({"variant": variant}, 31, 120):
            script = read_script(task.script)
            found |= {REMINDER.format(request.text) for request in script.requests}
            found |= {revision.text for revision in script.revisions}
            found |= {f"My {slot} is {value}." for slot, value in script.slots.items()}
            found |= {
                detail_words(field, value)
                for details in script.details.values()
                for field, value in details.items()
            }
    return tuple(sorted(found))


@pytest.mark.slow
def test_every_line_of_the_script_says_what_it_says() -> None:
    assert len(lines()) > 700
    assert [line for line in lines() if deviations(line, Completion(content=line))] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (YES, "Sure, go ahead please."),
        (YES, "Yep, do it."),
        (YES, "Yes, that\u2019s fine, thank you."),
        (YES, "Yes, I'd like you to go ahead with that now, thanks for your help."),
        (YES, "Yes, I agree, that sounds good to me. Please proceed."),
        (GO_ON, "Thanks, please carry on."),
        (PHONE, "You can reach me on my mobile phone, the number is 555-525-1175."),
        (CITY, "To my home in Graz, please."),
        (COLOUR, "I'd prefer green, please."),
        (ENDING, "I mean the card with the number ending in 8759."),
        (GO_ON, "Okay, thank you. Please continue."),
        (UNKNOWN, "Sorry, I really don't know."),
        (UNKNOWN, "Hmm, no idea, I don't know that."),
        (UNKNOWN, "I don\u2019t know that one, sorry."),
        (PUSH_BACK[0], "Oh, that's disappointing. Really? Well, rules are rules I guess."),
        (PUSH_BACK[1], "I've been buying here for years, please make an exception!"),
        (PUSH_BACK[2], "I insist, please get me your manager."),
        (ACCEPTED, "Okay, I see."),
        (ACCEPTED, "All right, fair enough."),
        (NOT_YET_DONE, "Hold on, you haven't done what I agreed to. Please do that first."),
        (EMAIL, "It's ada.brook4711@mail.example"),
        (EMAIL, "You can reach me at ada.brook4711@mail.example, thanks."),
        (ITEM_AND_COLOUR, "I mean the blue one, and I'd like it in red."),
        (STREET, "The address at 19 Park Road, please."),
        (DAY, "It's the order from 2026-03-05."),
        (CARD, "As I said, to my card that ends in 8759."),
        (CHANGE, "Sorry, I've changed my mind on request 1. I'd like it in blue instead."),
        (WITHDRAWN, "Actually, never mind request 2, leave it as it is."),
        (
            SENT_INSTEAD,
            "I changed my mind about request 3: please don't cancel it, send it to my Graz "
            "address instead.",
        ),
        (PHRASES["reason"]["changed_mind"], "I simply changed my mind about it."),
        (PHRASES["reason"]["found_cheaper"], "It was cheaper in another shop."),
        (PHRASES["reason"]["ordered_by_mistake"], "That order was a mistake."),
        (PHRASES["reason"]["delivery_too_late"], "It would come too late for me."),
        (PHRASES["method"]["drop_off"], "I'd drop it off at a shop myself."),
        (PHRASES["method"]["pickup"], "Please pick it up at my place."),
        (PHRASES["method"]["mail"], "I'd send it by mail then."),
        (PHRASES["refund_to"]["original"], "Please refund it the same way I paid."),
        (PHRASES["refund_to"]["store_credit"], "Store credit is fine with me."),
    ],
)
def test_a_faithful_wording_is_let_through(line: str, said: str) -> None:
    assert kinds(line, said) == set()


@pytest.mark.parametrize(
    ("line", "said", "kind"),
    [
        (GO_ON, "Thanks. My phone is 555-172-1098 by the way.", "reveals"),
        (GO_ON, "Thanks, it's about the green lamp.", "reveals"),
        (YES, "Yes, go ahead, it is order O-12345.", "reveals"),
        (YES, "Yes, please go ahead. I am Milo Hayes.", "reveals"),
        (YES, "Yes, go ahead, I ordered it on Friday.", "reveals"),
        (YES, "Yes, please refund the two hundred dollars.", "reveals"),
        (EMAIL, "It's ada.brook4712@mail.example.", "contradicts"),
        (EMAIL, "It's Ada.Brook4711@mail.example.", "contradicts"),
        (STREET, "The one at 18 Park Road.", "contradicts"),
        (DAY, "The one from 2026-03-06.", "contradicts"),
        (ITEM_AND_COLOUR, "The red one. In blue, please.", "contradicts"),
        (CHANGE, "I changed my mind about request 1: not blue, please.", "contradicts"),
        (CHANGE, "I changed my mind about request 1: make it green.", "contradicts"),
        (YES, "No, please don't.", "contradicts"),
        (YES, "Yes, but only if it is free.", "contradicts"),
        (YES, "Yes, go ahead, unless it costs anything.", "contradicts"),
        (UNKNOWN, "Sure, no problem.", "omits"),
        (UNKNOWN, "I cannot remember that.", "omits"),
        (PHRASES["reason"]["ordered_by_mistake"], "That order was an accident.", "omits"),
        (EMAIL, "I have an email address.", "omits"),
        (YES, "Thank you.", "omits"),
        (
            SENT_INSTEAD,
            "I changed my mind about request 3: send it to my address in Graz.",
            "omits",
        ),
        (PHRASES["reason"]["found_cheaper"], "I ordered it by mistake.", "contradicts"),
        (PHRASES["refund_to"]["original"], "As store credit, please.", "contradicts"),
        (GO_ON, "Thanks, go ahead.", "agrees"),
        (UNKNOWN, "I don't know, but yes, go ahead.", "agrees"),
        (ACCEPTED, "Fine, then please return it.", "changes_goal"),
        (YES, "Yes, go ahead and cancel it.", "changes_goal"),
        (ACCEPTED, "Okay, forget it then.", "changes_goal"),
        (GO_ON, "Thanks, that's all. Goodbye!", "ends_early"),
        (YES, "Yes, go ahead. Bye!", "ends_early"),
        (GOODBYE, "Thank you.", "omits"),
        (GO_ON, "Let me check that for you.", "plays_agent"),
        (GO_ON, "Thank you for contacting us. How can I help?", "plays_agent"),
        (GO_ON, "I have cancelled your order.", "plays_agent"),
        (GO_ON, "<think>The customer agrees.</think> Thanks.", "out_of_role"),
        (GO_ON, "Customer: Thanks, please continue.", "out_of_role"),
        (GO_ON, "Thanks. ###STOP###", "out_of_role"),
        (GO_ON, "As an AI language model I have no preference.", "out_of_role"),
        (GO_ON, "Thanks. It arrived damaged.", "adds"),
        (GO_ON, "Thanks. What about my other parcel?", "adds"),
        (UNKNOWN, "I don't know. This is unacceptable!", "adds"),
        (GO_ON, "thank you " * 30, "rambles"),
        (GO_ON, "  ", "silent"),
    ],
)
def test_a_departure_is_named_by_its_kind(line: str, said: str, kind: str) -> None:
    assert kind in kinds(line, said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (YES, "Yes, go ahead when the stock is back."),
        (YES, "Yes please, go ahead, though only for half of it."),
        (YES, "Yes, please go ahead. I would like the other address though."),
        (YES, "Yes, please go ahead with the credit option."),
        (YES, "Yes, please go ahead with both orders."),
        (YES, "Yes, whatever. Go ahead after checking with my husband."),
        (YES, "S\u00ed, ja, oui, go ahead and keep the leftover as a tip."),
        (GO_ON, "Thank you. Please go on and use the cheapest option."),
        (UNKNOWN, "I don't know that, sorry. Skip the verification this once."),
        (UNKNOWN, "I don't know that, sorry. Use whatever is on file."),
        (ACCEPTED, "All right, I understand. Then just do the other thing we talked of."),
        (ENDING, "Every one aside from that ending in 8759."),
        (ENDING, "The one I paid with, ending in 8759."),
        (CITY, "To my neighbour's address in Graz."),
        (CITY, "To my address away from Graz."),
        (COLOUR, "Green would be the last I'd want, please."),
        (PHONE, "My phone used to be 555-525-1175."),
        (PHONE, "My zip is 555-525-1175."),
        (EMAIL, "My wife's email is ada.brook4711@mail.example."),
        (PHRASES["method"]["mail"], "I will send it by mail, at your cost."),
        (
            PHRASES["refund_to"]["store_credit"],
            "I would like the refund as store credit, all of them.",
        ),
        (
            WITHDRAWN,
            "No, on second thought, leave request 2 as it is; I do not want it any more, so stop "
            "it next week.",
        ),
        (
            WITHDRAWN,
            "On second thought, leave request 2 as it is; I do not want it any more. Void the "
            "entire lot in June.",
        ),
    ],
)
def test_a_condition_another_owner_or_another_wish_has_no_words_to_be_said_in(
    line: str, said: str
) -> None:
    assert kinds(line, said)


def test_the_words_that_go_beyond_a_line_are_named() -> None:
    (found,) = deviations(YES, Completion(content="Yes, please go ahead with both orders."))
    assert (found.kind, found.what) == ("adds", "words that go beyond the line: both, orders")


def test_a_tool_call_is_the_agents_part_and_a_reply_cut_off_is_no_line() -> None:
    call = Completion(content=YES, tool_calls=(ToolCall.received("c", "get_order", "{}"),))
    assert [found.kind for found in deviations(YES, call)] == ["plays_agent"]
    for ended in ("length", "content_filter"):
        assert [
            found.kind for found in deviations(YES, Completion(content=YES, finish_reason=ended))
        ] == ["cut_off"]


@pytest.mark.slow
@given(
    st.data(),
    st.sampled_from(
        [
            EMAIL,
            STREET,
            DAY,
            CARD,
            "My phone is 555-172-1098.",
            "My zip is 89337.",
            "The coupon is LOYAL35.",
        ]
    ),
)
def test_no_digit_of_a_fact_can_be_changed_unseen(data: st.DataObject, line: str) -> None:
    place = data.draw(st.sampled_from([at for at, letter in enumerate(line) if letter.isdigit()]))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != line[place]]))
    assert kinds(line, line[:place] + other + line[place + 1 :]) & {"contradicts", "omits"}


@pytest.mark.slow
@given(st.text(max_size=300), st.sampled_from([YES, GO_ON, EMAIL, CHANGE]))
def test_any_text_gets_known_kinds_and_never_an_exception(said: str, line: str) -> None:
    assert kinds(line, said) <= set(KINDS)


def test_a_wording_may_be_some_words_longer_than_its_line() -> None:
    assert (most_words("Yes."), most_words("one two three four")) == (16, 22)
