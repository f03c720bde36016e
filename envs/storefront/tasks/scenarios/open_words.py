"""Requests whose words leave something open among several: which order, which item of it, which
address, which card.
"""

from dataclasses import replace

from synth.envs.storefront.customer.script import KIND_OF, KINDS
from synth.envs.storefront.tasks.requests.entity_resolution import (
    SLOTS,
    Slot,
    namesakes,
    orders_with,
)
from synth.envs.storefront.tasks.requests.returns import to_card
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.tasks.requests.wording import feasible, worded
from synth.envs.storefront.tasks.scenarios.subject import Subject, mine
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.views import cards_of, cents_of, item_of

FIRST_KEPT = 0.4
"""Of the tasks in which the first of two that fit is the one that is meant, so many are kept, of k
that fit one (k-1)th of that: taking the first of k must be right no more than one time in k, though
new orders, which stand first, can be changed more often than old ones.
"""


def draw_ambiguous(draw: Draw) -> Subject | None:
    """A request of the customer whose words fit as many as the setting asks for; None where they
    have none.
    """
    statuses = (
        "pending",
        "processing",
        "shipped",
        "delivered",
    )

    # a slot that stands there twice is likely to come first
    for slot in dict.fromkeys(draw.rng.sample(SLOTS, len(SLOTS))):
        at = replace(draw, slot=slot)

        for order in mine(draw, *statuses):
            calls = feasible(at, order["order_id"])
            kinds = [kind for kind in calls if slot in KINDS[kind]["open"]]

            if kinds:
                call = draw.rng.choice(calls[draw.rng.choice(kinds)])

                intent = open_among_several(
                    draw,
                    slot,
                    with_open_slot(at, worded(at, call)),
                )

                if intent is not None:
                    return Subject(draw.base, (intent,))

    return None


def with_open_slot(draw: Draw, intent: Intent) -> Intent:
    """The request with the card left open, where that is the slot: the one that was paid with, or
    one that is refused by R5, where something may be.
    """
    tool, made = intent.calls[-1]

    if draw.slot != "payment" or made.get("to") == STORE_CREDIT or tool != "issue_refund":
        return intent

    paid_with = draw.base.orders[made["order_id"]]["payment_id"]
    cards = list(cards_of(draw.base.files[draw.customer_id]).values())
    may_refuse = draw.config.mix.refused and "R5" in draw.base.rules.in_force

    # where every card is right nothing is asked, and the words are not open
    if paid_with not in cards or not may_refuse:
        return intent

    meant = draw.rng.choice(cards)
    asked = to_card(draw, intent, meant, is_open=True)

    if meant == paid_with:
        return asked

    return asked.denied("R5", made["order_id"]).complicated("ineligible_R5")


def open_among_several(draw: Draw, slot: Slot, intent: Intent) -> Intent | None:
    """The request as an ambiguous one; None where its words fit too few or too many, or where the
    first that fits is right too often.
    """
    referent, (low, high) = (
        intent.referent,
        draw.config.ambiguity,
    )

    if referent is None or not low <= referent.candidates <= high:
        return None

    fitting, meant = _fitting(draw, slot, intent)

    # two that come to the same are no choice
    if fitting.count(meant) > 1:
        return None

    share = FIRST_KEPT / (referent.candidates - 1)

    if fitting[0] == meant and draw.rng.random() >= share:
        return None

    return intent.complicated("ambiguous", f"ambiguous_{slot}")


def _fitting(draw: Draw, slot: Slot, intent: Intent) -> tuple[list[object], object]:
    """What fits the words, as an agent finds it, and what is meant; who takes another that comes to
    the same is right.
    """
    base = draw.base
    referent = intent.referent
    request = intent.request
    assert referent is not None
    order = base.orders[referent.order_id]
    file = base.files[draw.customer_id]

    if slot == "order":
        orders = orders_with(base, draw.customer_id, item_of(referent.line))

        return list(orders), referent.order_id

    if slot == "item":
        alike = namesakes(order, referent.line)
        # a quote of another line may be the same amount
        of_money = KIND_OF["quote_refund"] == request.kind
        values = [cents_of(order, [line]) if of_money else line["line"] for line in alike]

        return values, values[alike.index(referent.line)]

    if slot == "address":
        rows = [row for row in file["addresses"] if row["address_id"] != order["address_id"]]
        (meant,) = {made["address_id"] for _, made in intent.calls}

        return [row["address_id"] for row in rows if row["city"] == request.wanted], meant

    # all cards that R5 forbids come to the same
    cards = cards_of(file)
    refused = {digits: key != order["payment_id"] for digits, key in cards.items()}

    if intent.refusals:
        return [refused[digits] for digits in cards], True

    return list(cards), intent.details["card"]
