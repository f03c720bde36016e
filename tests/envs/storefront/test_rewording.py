"""A model's words for a request: the same wish in other words is taken, another wish is not."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.reverse.rewording import otherwise

RETURN = Request(
    1,
    "return",
    "I want to return the blue kettle from order O-12345.",
    order_id="O-12345",
    colour="blue",
    noun="kettle",
)


@pytest.mark.parametrize(
    "line",
    [
        "I would like to send back the blue kettle from order O-12345.",
        "Could you take the blue kettle of order O-12345 back?",
        "The blue kettle in order O-12345 has to go back, please.",
    ],
)
def test_the_same_wish_in_other_words_is_taken(line: str) -> None:
    assert otherwise(RETURN, line) == ""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no sentence"),
        ("I want to return the red kettle from order O-12345.", "colour"),
        ("I want to return the blue kettle from order O-54321.", "id"),
        ("Please do not return the blue kettle from order O-12345.", "negated"),
        ("Please cancel the blue kettle from order O-12345.", "does not ask for: return"),
        ("I want to return the blue kettle from order O-12345 or cancel it.", "asks for more"),
        ("Qwe rty uio pas dfg hjk lzx cvb nmq.", "id"),
    ],
)
def test_another_wish_is_told(line: str, why: str) -> None:
    assert why in otherwise(RETURN, line)


@given(st.integers(0, 10**6))
def test_words_in_a_drawn_order_are_seldom_taken(seed: int) -> None:
    words = RETURN.text.split()
    drawn = Random(seed).sample(words, len(words))
    ends_alike = drawn[0] == words[0] and drawn[-1] == words[-1]
    assert drawn == words or ends_alike or otherwise(RETURN, " ".join(drawn))


def test_who_does_not_want_to_receive_a_newsletter_cancels_nothing() -> None:
    asked = Request(1, "out_of_scope", "Please stop sending me your newsletter.")
    assert otherwise(asked, "I don't want to receive your newsletter any more, please.") == ""
    assert "cancel" in otherwise(asked, "I don't want my order, nor your newsletter, any more.")


def test_a_question_about_a_return_asks_for_none() -> None:
    asked = Request(
        1,
        "refund_query",
        "How much would I get back for the blue kettle from order O-12345 if I sent it back?",
        order_id="O-12345",
        colour="blue",
        noun="kettle",
    )
    line = "If I returned the blue kettle from order O-12345, how much would my refund be?"
    assert otherwise(asked, line) == ""
