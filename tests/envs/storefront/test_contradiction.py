"""A fact that was told and taken back was not told; honest talk about the same order takes nothing
back.
"""

import pytest

from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.tools.transcript import Exchange
from synth.schemas.check import Check, ToldFact
from tests.envs.storefront.transcripts import BASE, called, orders, said

ORDER, OTHER = orders()[:2]
SKU = sorted(BASE.tables["variants"])[0]
COLOUR = BASE.tables["variants"][SKU]["colour"]
NOUN = BASE.tables["products"][BASE.tables["variants"][SKU]["product_id"]]["noun"]
QUOTE = called("quote_refund", {"order_id": ORDER, "refund": 129.5})
TRACK = called(
    "track_shipment", {"order_id": ORDER, "status": "in_transit", "arrives": "2026-03-05"}
)
MONEY = ToldFact("money", 12950, ORDER)
PARCEL = (ToldFact("status", "in_transit", ORDER), ToldFact("date", "2026-03-05", ORDER))
TOLD = "Request 1: you would get $129.50 back."


def problems(facts: tuple[ToldFact, ...], *exchanges: Exchange) -> tuple[str, ...]:
    part = next(
        part
        for part in evaluate(Check(told=facts), BASE, {}, exchanges).parts
        if part.name == "told"
    )
    return part.evidence


@pytest.mark.parametrize(
    "later",
    [
        "Request 1: you would get $90.00 back.",
        f"Sorry, for order {ORDER} it is $90.00.",
        "Correction: request 1 would give you $90 instead.",
    ],
)
def test_a_later_sentence_with_another_value_of_the_same_thing_takes_a_fact_back(
    later: str,
) -> None:
    assert problems((MONEY,), QUOTE, said(TOLD)) == ()
    assert problems((MONEY,), QUOTE, said(TOLD), said(later)) == (
        f"told, and contradicted in turn 2 by 9000, which nothing new showed: money of {ORDER}",
    )


@pytest.mark.parametrize(
    "later",
    [
        "Request 2: you would get $90.00 back.",
        f"Order {OTHER} would give you $90.00 back.",
        "Request 1: you would get $129.50 back, $20.50 less than you paid.",
        "Request 1: would $90.00 back be enough?",
        f"I will now cancel order {ORDER}, which was worth $150.00.",
        "Your store credit is $90.00.",
    ],
)
def test_other_amounts_in_an_honest_talk_take_nothing_back(later: str) -> None:
    assert problems((MONEY,), QUOTE, said(TOLD), said(later)) == ()


def test_a_value_that_was_read_anew_may_replace_the_one_that_was_told_and_the_last_telling_counts() -> (
    None
):
    other = called("get_order", {"order_id": ORDER, "total": 90.0})
    wrong, right = said("Request 1: you would get $90.00 back."), said(TOLD)
    assert problems((MONEY,), QUOTE, right, other, wrong) == ()
    assert problems((MONEY,), other, QUOTE, right, wrong) != ()
    assert problems((MONEY,), QUOTE, right, wrong, right) == ()


def test_a_price_is_recognised_by_colour_and_noun() -> None:
    seen = called("get_variant", {"sku": SKU, "price": 47.0})
    fact = ToldFact("money", 4700, SKU)
    told, wrong = (said(f"The {COLOUR} {NOUN} costs ${price} now.") for price in ("47.00", "52.00"))
    assert problems((fact,), seen, told) == ()
    assert problems((fact,), seen, told, wrong) != ()


def test_another_status_of_the_same_order_takes_one_back_and_shipped_does_not() -> None:
    told = said(f"Order {ORDER} is in transit and arrives on 2026-03-05.")
    assert problems(PARCEL, TRACK, told, said(f"Order {ORDER} has been shipped.")) == ()
    assert problems(PARCEL, TRACK, told, said(f"Order {ORDER} is delayed.")) != ()
    assert problems(PARCEL, TRACK, told, said(f"Order {OTHER} is delayed.")) == ()
    assert problems(PARCEL, TRACK, told, said(f"Order {ORDER} arrives on 2026-03-09.")) != ()


@pytest.mark.parametrize(
    "later",
    [
        f"Please note that order {ORDER} can no longer be cancelled.",
        f"Once order {ORDER} is delivered, you have time to return it.",
        f"If order {ORDER} is not delivered by then, write to us.",
        f"Order {ORDER} is not cancelled.",
        f"Order {ORDER} will be delivered soon.",
        f"You may send order {ORDER} back when it has been delivered.",
    ],
)
def test_a_status_that_is_denied_supposed_or_possible_takes_nothing_back_and_tells_nothing(
    later: str,
) -> None:
    told = f"Order {ORDER} is in transit and arrives on 2026-03-05."
    assert problems(PARCEL, TRACK, said(told), said(later)) == ()
    assert problems(PARCEL, TRACK, said(f"{told} {later}")) == ()
    for status in ("delivered", "cancelled"):
        seen = called("track_shipment", {"order_id": ORDER, "status": status})
        assert problems((ToldFact("status", status, ORDER),), seen, said(later)) == (
            f"not told: status of {ORDER}",
        )


def test_a_status_that_is_claimed_beside_a_denied_one_still_takes_a_fact_back() -> None:
    told = said(f"Order {ORDER} is in transit and arrives on 2026-03-05.")
    for later in (
        "is not in transit, it is delayed.",
        "cannot be cancelled: it was delivered.",
        "was delivered, if I see it right.",
    ):
        assert problems(PARCEL, TRACK, told, said(f"Order {ORDER} {later}")) != ()


def test_days_and_statuses_said_of_nothing_are_a_guess_when_they_are_many() -> None:
    one, more = (
        said("It arrives on 2026-03-05, in transit."),
        said("It may be 2026-03-06. It may be 2026-03-07."),
    )
    assert problems(PARCEL, TRACK, one, said("It was placed on 2026-03-01.")) == ()
    assert problems(PARCEL, TRACK, one, more) == (
        "3 values of type date said of no order and no request, at most 2",
    )


def test_many_values_said_of_the_same_thing_are_a_guess_however_they_are_spread() -> None:
    guesses = [said(f"Request 1: it is ${value}.00.") for value in (5, 6, 7, 8)]
    right = said("Request 1: it is $129.50.")
    assert problems((MONEY,), QUOTE, *guesses[:3], right) == ()
    assert problems((MONEY,), QUOTE, *guesses[:4], right) == (
        f"5 values said of the same thing, at most 4 count as an answer: money of {ORDER}",
    )
    assert (
        problems(
            (MONEY,), QUOTE, *(said(f"Request {n}: it is ${n}.00.") for n in (2, 3, 4, 5)), right
        )
        == ()
    )
