"""Requests whose words leave something open among several: which order, which item of it, which
address, which card.
"""

from dataclasses import replace

from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.referents import (
    SLOTS,
    Referent,
    Slot,
    candidates,
    described,
    namesakes,
)
from synth.envs.storefront.tasks.requests import (
    MAKERS,
    destinations,
    fitting_cities,
    makers,
    other_colours,
)
from synth.envs.storefront.tasks.returns import cards, return_to_card, returnable
from synth.envs.storefront.world.rules import above_limit, refused_by_status

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
        own = draw.base.orders_of[draw.customer_id]
        orders = [key for key in own if draw.order(key)["recipient_id"] is None]
        draw.rng.shuffle(orders)
        for order_id in orders:
            intent = _open(replace(draw, slot=slot), order_id)
            kept = None if intent is None else open_among_several(draw, slot, intent)
            if kept is not None:
                return order_id, kept
    return None


def open_among_several(draw: Draw, slot: Slot, intent: Intent) -> Intent | None:
    """The request as an ambiguous one; None where its words fit too few or too many, or where the
    first that fits is right too often.
    """
    referent = intent.referent
    if referent is None or not _in_range(draw, referent.candidates):
        return None
    if _comes_to_the_same(draw, slot, intent):
        return None
    if _is_first(draw, slot, intent, referent) and draw.rng.random() >= FIRST_KEPT / (
        referent.candidates - 1
    ):
        return None
    return intent.twisted("ambiguous", f"ambiguous_{slot}")


def _in_range(draw: Draw, fitting: int) -> bool:
    return draw.config.ambiguity[0] <= fitting <= draw.config.ambiguity[1]


def _open(draw: Draw, order_id: str) -> Intent | None:
    """A request about an order that leaves the slot open."""
    base, me, order = draw.base, draw.customer_id, draw.order(order_id)
    lines = base.lines_of[order_id]
    if draw.slot == "payment":
        return _to_some_card(draw, order_id)
    if draw.slot == "address":
        is_open = refused_by_status("address", order) is None and fitting_cities(draw, order_id)
        return MAKERS["address"](draw, order_id) if is_open else None
    if draw.slot == "order":
        fitting = (len(candidates(base, me, described(base, key))) for key in lines)
        kinds = list(makers(base, order_id, me)) if any(_in_range(draw, n) for n in fitting) else []
        return MAKERS[draw.rng.choice(sorted(kinds))](draw, order_id) if kinds else None
    several = [key for key in lines if _in_range(draw, len(namesakes(base, key)))]
    kinds = []
    if set(returnable(base, order_id, me)).intersection(several):
        kinds.append("return")
        if len({base.cents(order_id, [key]) for key in several}) == len(several):
            kinds.append("refund_query")
    if order["status"] == "pending" and any(other_colours(base, key) for key in several):
        kinds.append("exchange")
    return MAKERS[draw.rng.choice(sorted(kinds))](draw, order_id) if kinds else None


def _to_some_card(draw: Draw, order_id: str) -> Intent | None:
    """Some of these are refused, so that there are none where nothing is to be."""
    base, order, held = draw.base, draw.order(order_id), cards(draw.base, draw.customer_id)
    if (
        draw.config.mix.refused == 0
        or above_limit(base.rules, order["total_cents"])
        or order["payment_id"] not in held
        or not _in_range(draw, len(held))
        or "R5" not in base.rules.in_force
    ):
        return None
    possible = returnable(base, order_id, draw.customer_id)
    return return_to_card(draw, order_id, draw.rng.choice(held)) if possible else None


def _comes_to_the_same(draw: Draw, slot: Slot, intent: Intent) -> bool:
    """Whether R5 forbids the first card as it forbids another one that is meant, so that who takes
    the first denies rightly.
    """
    if slot != "payment" or not intent.refusals:
        return False
    paid_with = draw.order(str(intent.refusals[0].evidence))["payment_id"]
    return bool(cards(draw.base, draw.customer_id)[0] != paid_with)


def _is_first(draw: Draw, slot: Slot, intent: Intent, referent: Referent) -> bool:
    """Whether who takes the first that fits takes the right one."""
    base, me, line_key = draw.base, draw.customer_id, referent.line_key
    if slot == "order":
        return candidates(base, me, described(base, line_key))[0] == referent.order_id
    if slot == "item":
        return namesakes(base, line_key)[0] == line_key
    if slot == "address":
        meant = str(intent.required[0].where["address_id"])
        fitting = destinations(base, referent.order_id)[base.addresses[meant]["city"]]
        return fitting[0] == meant
    first = base.tables["payments"][cards(base, me)[0]]
    return bool(first["last4"] == intent.details["card"])
