"""Requests that bring an item back: one's own, a gift, and with a card named for the money."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from synth.envs.storefront.tasks.requests.entity_resolution import WORDS, Referent, by_id
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.world.options import refunds_of
from synth.envs.storefront.world.policy import STORE_CREDIT, Call
from synth.envs.storefront.world.views import Shown, cards_of, numbered


def referent_of(draw: Draw, order: Shown, made: Mapping[str, Any]) -> Referent:
    """Words for an order and for the lines of a call; somebody else's is named by its id."""
    if order["customer_id"] != draw.customer_id:
        return by_id(draw.base, order["order_id"])

    return draw.refer(
        order["order_id"],
        numbered(order, list(map(int, made.get("lines", ())))),
    )


def returned(
    draw: Draw,
    order_id: str,
    lines: list[int],
    method: str,
    refund_to: str = "",
) -> Intent:
    """Lines go back, one or all; the money goes where the customer wants it, for a gift to
    credit.
    """
    order = draw.base.orders[order_id]
    refund_to = refund_to or draw.detail("refund_to")
    ways = refunds_of(draw.base.rules, order, lines)

    back = (
        "create_return",
        {
            "order_id": order_id,
            "lines": lines,
            "method": method,
        },
    )

    # ways end with credit; above the limit there is one, the escalation
    calls = (
        back,
        ways[-1 if refund_to == STORE_CREDIT else 0],
    )

    details = {"method": method, "refund_to": refund_to}

    if order["customer_id"] != draw.customer_id:
        return _gift_return(draw, order, calls, details)

    referent = referent_of(draw, order, back[1])

    if len(lines) == 1:
        return draw.intent("return", referent, *calls, details=details)
    # all of it goes back: an item in the words would sound like that item alone
    if not referent.stands_alone:
        referent = by_id(draw.base, order_id)

    return draw.intent(
        "return",
        referent,
        *calls,
        words="return_all",
        details=details,
    )


def _gift_return(
    draw: Draw,
    order: Shown,
    calls: tuple[Call, ...],
    details: Mapping[str, str],
) -> Intent:
    """A gift is returned by its recipient; it is named by its id, or by who gave it, where they
    gave one only.
    """
    base = draw.base
    order_id = order["order_id"]
    giver_id = order["customer_id"]
    gifts = [base.orders[key]["customer_id"] for key in base.gifts_of[draw.customer_id]]
    # somebody who gave two gifts does not say by their name which is meant
    several = draw.referent is not None or gifts.count(giver_id) > 1
    named = several or draw.rng.random() < 0.5
    giver = base.row("customers", giver_id)["name"]
    (line,) = numbered(order, calls[0][1]["lines"])
    referent = by_id(base, order_id, line)

    if not named:
        referent = replace(referent, by_id=False, gift_of=giver)

    words = "gift_return" if named else "gift_return_of"
    parts = {"order_id": order_id, "giver": giver}

    done = draw.intent(
        "return",
        referent,
        *calls,
        words=words,
        details=details,
        parts=parts,
    )

    return done.complicated("by_other_person")


def to_card(
    draw: Draw,
    intent: Intent,
    payment_id: str,
    *,
    is_open: bool = False,
) -> Intent:
    """A return for which the money must go to a card, which the customer names; where that is left
    open they say "my card", one of several.
    """
    cards = cards_of(draw.base.files[draw.customer_id])
    last4 = next(digits for digits, key in cards.items() if key == payment_id)

    calls = [
        (
            tool,
            {**made, "to": payment_id} if tool == "issue_refund" else made,
        )
        for tool, made in intent.calls
    ]

    details = {**intent.details, "card": last4}
    # the card takes the place of the choice between card and credit
    del details["refund_to"]
    done = replace(intent, calls=tuple(calls), details=details)

    if not is_open:
        return done.complicated(
            words=WORDS["that_card"].format(last4=last4),
            pay_to=last4,
        )

    referent = None if done.referent is None else replace(done.referent, candidates=len(cards))

    return replace(
        done.complicated(words=WORDS["my_card"], pay_to="card"),
        referent=referent,
    )
