"""Kinds of things that are said at the end: each borne out by what happened, and its twin, in which
one particular is another, not; worked examples in episodes that the expert solved.
"""

import pytest

from benchmarks.gates.closing_episodes import judged_texts
from synth.envs.storefront.check.closing.backing.people import (
    is_a_stranger_named,
    orders_of_others,
)
from synth.envs.storefront.check.closing.backing.reasons import without_rules
from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import is_day, mentions_of
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.transcript import Event
from tests.envs.storefront.transcripts import BASE

SEED, TASKS = 877, 60
QUOTED, ON_IT, NO_STOCK, REFUSED, TOO_LATE, CHANGED, SENT_BACK = 0, 8, 12, 16, 44, 48, 52
"""Tasks of the seed. 0: 26.27 was quoted for the white gloves in O-91529; the grey backpack, a gift
of Vera Frost, goes back by mail, its 238.35 were escalated. 8: LOYAL76 was on O-37536 before (total
35.69), O-89171 goes to Malmo now. 12: green gloves in S were sold out, so O-34280 was cancelled;
Zoe Ellis's gift goes to Cork; O-52731 comes with Swift on 2026-02-10. 16: a yellow kettle is picked
up (52.50 in store credit), a suitcase's refund was escalated, Leeds is not on the file. 44: O-68370
had shipped, so it was not cancelled. 48: O-46438 (a green lamp, total 137.35) had been modified
once. 52: a yellow hammock in O-50598 is picked up, 89.50 went to the card ending in 1073; O-52262
has its label, and comes with Kestrel on 2026-10-28.
"""


def verdicts(task: int, *texts: str) -> list[bool | None]:
    return [found.passed for found in at_once(judged_texts(task, SEED, texts, tasks=TASKS))]


@pytest.mark.parametrize(
    ("task", "true", "false"),
    [
        # quotes are of the order and the goods that are meant
        (
            QUOTED,
            "The gloves in O-91529 are worth 26.27 dollars if they come back.",
            "The gloves in O-91529 are worth 238.35 dollars if they come back.",
        ),
        # a reason is one by which something was denied or handed over
        (
            QUOTED,
            "No refund has been paid so far: $238.35 goes beyond my limit.",
            "The refund of 238.35 dollars was declined, because the return window is over.",
        ),
        # who gave it
        (
            QUOTED,
            "The gift of Vera Frost is registered for return by mail.",
            "The gift of Hugo Archer is registered for return by mail.",
        ),
        # what had been so before
        (
            ON_IT,
            "Your order O-37536 already had the LOYAL76 coupon before we spoke.",
            "That coupon was not on O-37536, so I added it now.",
        ),
        (
            CHANGED,
            "O-46438 has been changed before, which is why I can't exchange the lamp.",
            "O-46438 has never been changed before, but I can't exchange the lamp.",
        ),
        # the stock, of a colour and a size
        (
            NO_STOCK,
            "We had no green gloves left in S, so as you wished I called off O-34280.",
            "We had no yellow gloves left in S, so I called off O-34280.",
        ),
        # carriers and days
        (
            NO_STOCK,
            "Parcel O-52731 is on its way with Swift; it should reach you on 10 February.",
            "Parcel O-52731 is on its way with Heron; it should reach you on 10 February.",
        ),
        # where an order goes that is told by whom it is for
        (
            NO_STOCK,
            "Zoe Ellis's order will be sent to Cork.",
            "Zoe Ellis's order had left already, so I couldn't send it to Cork.",
        ),
        # addresses on the file
        (
            REFUSED,
            "I couldn't change the address to Leeds. It isn't one of your saved addresses.",
            "The order you wanted in Leeds has shipped already, so I couldn't change its address.",
        ),
        # how goods come back
        (
            REFUSED,
            "The kettle goes back by pickup; its 52.50 dollars are in your store credit now.",
            "The kettle goes back by mail; its 52.50 dollars are in your store credit now.",
        ),
        # how many requests
        (
            REFUSED,
            "Two out of three requests went through.",
            "Three out of three requests went through.",
        ),
        # rules told in general
        (
            TOO_LATE,
            "Orders that have shipped can't be cancelled, I'm afraid.",
            "Pending orders can't be cancelled.",
        ),
        (
            CHANGED,
            "An order can only be modified once, so the green lamp stays as it is.",
            "An order can be modified twice, so the lamp is now red.",
        ),
        # what a parcel is
        (
            SENT_BACK,
            "A shipping label exists for O-52262, and it'll arrive on October 28 with Kestrel.",
            "O-52262 is in transit with Kestrel and arrives on October 28.",
        ),
        # cards by their end
        (
            SENT_BACK,
            "I refunded $89.50 to the card ending in 1073.",
            "I refunded $89.50 to the card ending in 1074.",
        ),
    ],
)
def test_a_particular_is_borne_out_and_another_is_not(task: int, true: str, false: str) -> None:
    borne_out, another = verdicts(task, true, false)
    assert borne_out is True
    assert another is not True


@pytest.mark.parametrize(
    "text",
    [
        "The hammock was received and checked.",
        "Your account was updated, too.",
        "The pickup is free.",
        "O-52262 is ahead of time.",
        "I've told the carrier to hurry.",
        "I have given you free shipping for a year.",
        "A colleague has approved the refund.",
    ],
)
def test_what_nobody_here_can_know_or_do_never_passes(text: str) -> None:
    assert verdicts(SENT_BACK, text) != [True]


def ground_of(rule: str) -> EpisodeGround:
    """An episode in which the first request was denied by a rule."""
    denied = Event(0, "call", "deny", {"request": 1, "rule_id": rule})
    return EpisodeGround(EpisodeView([denied], BASE, opening="Hello.\n1. Please help me."), {})


@pytest.mark.parametrize(
    ("rule", "sentence", "left"),
    [
        ("R3", "An order can only be cancelled while it is pending.", ""),
        ("R3", "An order can be cancelled once it has been shipped.", None),
        ("R3", "An order can't be cancelled while it is pending.", None),
        ("R9", "Coupons are for pending orders, so I can't use it.", "so I can't use it."),
        ("R3", "Coupons are for pending orders.", None),
        ("R11", "We can ship only to addresses that are on file.", ""),
        ("R3", "Your order can be cancelled while it is pending.", None),
    ],
)
def test_rules_are_told_as_the_policy_has_them(rule: str, sentence: str, left: str | None) -> None:
    told = without_rules(sentence, ground_of(rule), lambda text: mentions_of(text, BASE).text)
    assert told == (sentence if left is None else left)


@pytest.mark.parametrize(
    ("day", "is_it"),
    [((5, 21), True), ((0, 21), True), ((5, 0), True), ((6, 21), False), ((0, 0), False)],
)
def test_a_day_may_be_told_in_part(day: tuple[int, int], is_it: bool) -> None:
    assert is_day("2026-05-21", day) is is_it


def test_an_order_is_told_by_whom_it_is_for() -> None:
    orders, customers = BASE.tables["orders"], BASE.tables["customers"]
    gift = next(key for key, row in orders.items() if row["recipient_id"] is not None)
    giver, taker = (orders[gift][column] for column in ("customer_id", "recipient_id"))
    names = {customers[giver]["name"], customers[taker]["name"]}
    stranger = next(row["name"] for row in customers.values() if row["name"] not in names)
    shown = Event(0, "call", "get_order", {"order_id": gift}, {"order_id": gift})
    ground = EpisodeGround(EpisodeView([shown], BASE, own=frozenset({giver})), {})

    to = str(customers[taker]["name"]).lower()
    assert orders_of_others(f"{to}'s order goes there", ground) == [gift]
    assert orders_of_others("the gift goes there", ground) == [gift]
    assert orders_of_others("the order goes there", ground) == []
    assert not is_a_stranger_named(f"the gift for {to}", ground)
    assert is_a_stranger_named(f"the gift for {stranger.lower()}", ground)
