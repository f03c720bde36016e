"""Requests whose words leave something open among several: which order, which item of it, which
address, which card.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from synth.envs.storefront.tasks.intents import (
    Draw,
    Intent,
    Maker,
    address,
    destinations,
    exchange,
    other_colours,
)
from synth.envs.storefront.tasks.questions import makers, refund_query
from synth.envs.storefront.tasks.referents import SLOTS, Slot, candidates, described, namesakes
from synth.envs.storefront.tasks.returns import (
    cards,
    paid_cents,
    return_,
    return_to_a_card,
    returnable,
)
from synth.envs.storefront.world.rules import BEFORE_SHIPPING, above_limit

FIRST_KEPT = 0.4
"""Of the tasks in which the first of two that fit is the one that is meant, so many are kept, of k
that fit one (k-1)th of that: taking the
first of k must be right no more than one time in k, though new orders, which stand first, can be
changed more often than old ones.
"""


def draw_ambiguous(draw: Draw) -> tuple[str, Intent] | None:
    """The order and a request of the customer whose words fit as many as the setting asks for; None
    where they have none.
    """
    for slot in dict.fromkeys(draw.rng.sample(SLOTS, len(SLOTS))):
        orders = [
            key
            for key in draw.base.orders_of[draw.customer_id]
            if draw.base.tables["orders"][key]["recipient_id"] is None
        ]
        draw.rng.shuffle(orders)
        for order_id in orders:
            intent = _SLOTS[slot](replace(draw, slot=slot), order_id)
            kept = None if intent is None else open_among_several(draw, slot, intent)
            if kept is not None:
                return order_id, kept
    return None


def open_among_several(draw: Draw, slot: Slot, intent: Intent) -> Intent | None:
    """The request as an ambiguous one; None where its words fit too few or too many, or where the
    first that fits is right too often.
    """
    if (
        intent.referent is None
        or not _in_range(draw, intent.referent.candidates)
        or _comes_to_the_same(draw, slot, intent)
    ):
        return None
    if _is_first(draw, slot, intent) and draw.rng.random() >= FIRST_KEPT / (
        intent.referent.candidates - 1
    ):
        return None
    return replace(intent, twists=(*intent.twists, "ambiguous", f"ambiguous_{slot}"))


def _in_range(draw: Draw, fitting: int) -> bool:
    return draw.config.ambiguity[0] <= fitting <= draw.config.ambiguity[1]


def _order(draw: Draw, order_id: str) -> Intent | None:
    fits = any(
        _in_range(draw, len(candidates(draw.base, draw.customer_id, described(draw.base, key))))
        for key in draw.base.lines_of[order_id]
    )
    kinds = makers(draw.base, order_id, draw.customer_id) if fits else {}
    return kinds[draw.rng.choice(sorted(kinds))](draw, order_id) if kinds else None


def _item(draw: Draw, order_id: str) -> Intent | None:
    base = draw.base
    several = [key for key in base.lines_of[order_id] if _in_range(draw, len(namesakes(base, key)))]
    back = set(returnable(base, order_id, draw.customer_id))
    kinds: dict[str, Maker] = {}
    if back.intersection(several):
        kinds["return"] = return_
        if len({paid_cents(base, order_id, [key]) for key in several}) == len(several):
            kinds["refund_query"] = refund_query
    if base.tables["orders"][order_id]["status"] == "pending" and any(
        other_colours(base, key) for key in several
    ):
        kinds["exchange"] = exchange
    return kinds[draw.rng.choice(sorted(kinds))](draw, order_id) if kinds else None


def _address(draw: Draw, order_id: str) -> Intent | None:
    if draw.base.tables["orders"][order_id]["status"] not in BEFORE_SHIPPING:
        return None
    fits = any(_in_range(draw, len(keys)) for keys in destinations(draw.base, order_id).values())
    return address(draw, order_id) if fits else None


def _payment(draw: Draw, order_id: str) -> Intent | None:
    """Some of these are refused, so that there are none where nothing is to be."""
    order, held = draw.base.tables["orders"][order_id], cards(draw.base, draw.customer_id)
    small = not above_limit(draw.base.rules, order["total_cents"])
    if draw.config.mix.refused == 0:
        return None
    if (
        not small
        or order["payment_id"] not in held
        or not _in_range(draw, len(held))
        or "R5" not in draw.base.rules.in_force
    ):
        return None
    return (
        return_to_a_card(draw, order_id, draw.rng.choice(held))
        if returnable(draw.base, order_id, draw.customer_id)
        else None
    )


_SLOTS: Mapping[Slot, Callable[[Draw, str], Intent | None]] = {
    "order": _order,
    "item": _item,
    "address": _address,
    "payment": _payment,
}


def _comes_to_the_same(draw: Draw, slot: Slot, intent: Intent) -> bool:
    """Whether R5 forbids the first card as it forbids another one that is meant, so that who takes
    the first denies rightly.
    """
    if slot != "payment" or not intent.refusals:
        return False
    paid_with = draw.base.tables["orders"][str(intent.refusals[0].evidence)]["payment_id"]
    return cards(draw.base, draw.customer_id)[0] != str(paid_with)


def _is_first(draw: Draw, slot: Slot, intent: Intent) -> bool:
    """Whether who takes the first that fits takes the right one."""
    base, referent = draw.base, intent.referent
    if referent is None:
        return False
    if slot == "order":
        return (
            candidates(base, draw.customer_id, described(base, referent.line_key))[0]
            == referent.order_id
        )
    if slot == "item":
        return namesakes(base, referent.line_key)[0] == referent.line_key
    if slot == "address":
        address_id = intent.required[0].where["address_id"]
        return (
            destinations(base, referent.order_id)[
                base.tables["addresses"][str(address_id)]["city"]
            ][0]
            == address_id
        )
    first = cards(base, draw.customer_id)[0]
    return bool(base.tables["payments"][first]["last4"] == intent.details["card"])
