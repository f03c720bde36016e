"""The requests that can be done for a customer, by kind: drawn, worded and compiled; and when each
is feasible.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from synth.envs.storefront.tasks.intents import Draw, Intent, end_of
from synth.envs.storefront.tasks.questions import refund_query, track, track_by_id
from synth.envs.storefront.tasks.referents import described
from synth.envs.storefront.tasks.returns import (
    gift_return,
    return_,
    return_all,
    return_to_card,
    returnable,
)
from synth.envs.storefront.world.rules import (
    discounted_cents,
    is_late,
    refused_by_status,
)
from synth.envs.storefront.world.world import BaseWorld

Maker = Callable[[Draw, str], Intent]


def cancel(draw: Draw, order_id: str) -> Intent:
    """An order is cancelled for the customer's reason; some do not know one."""
    referent = draw.refer(order_id)
    if draw.rng.random() < draw.config.reticence / 3:
        return draw.intent("cancel", referent, end_of("cancel_for_any_reason", order=order_id))
    reason = draw.detail("reason")
    end = end_of("cancel", order=order_id, reason=reason)
    return draw.intent("cancel", referent, end, details={"reason": reason})


def other_colours(base: BaseWorld, line_key: str) -> dict[str, str]:
    """Colour -> sku of the variants that a line could be exchanged for: same size, in none of the
    customer's orders already, so that the
    words for other orders mean the same before and after.
    """
    now, noun = base.variant(line_key), base.product(line_key)["noun"]
    owner = base.orders[base.tables["lines"][line_key]["order_id"]]["customer_id"]
    present = {
        described(base, key) for order in base.orders_of[owner] for key in base.lines_of[order]
    }
    variants = {sku: base.tables["variants"][sku] for sku in base.variants_of[now["product_id"]]}
    return {
        row["colour"]: sku
        for sku, row in variants.items()
        if row["size"] == now["size"] and (row["colour"], noun) not in present
    }


def exchange(
    draw: Draw, order_id: str, colour: str | None = None, tells: bool | None = None
) -> Intent:
    """A line becomes another variant; the order's total follows."""
    base, line_keys = draw.base, draw.base.lines_of[order_id]
    referent = draw.refer(order_id, [key for key in line_keys if other_colours(base, key)])
    line_key = referent.line_key
    options = other_colours(base, line_key)
    if colour is None:
        colour = draw.rng.choice(sorted(options))
    tell = draw.rng.random() < 0.6 if tells is None else tells
    missing, sku = draw.leaves_out(), options[colour]
    gross_cents = base.cents(order_id, (key for key in line_keys if key != line_key), 0)
    price_cents = base.tables["variants"][sku]["price_cents"]
    gross_cents += price_cents * base.tables["lines"][line_key]["quantity"]
    total_cents = discounted_cents(gross_cents, base.orders[order_id]["discount_percent"])
    end = end_of("exchange", order=order_id, line=line_key, sku=sku, total=total_cents)
    return draw.intent("exchange", referent, end, wanted=colour, missing=missing, tell=tell)


def destinations(base: BaseWorld, order_id: str) -> dict[str, tuple[str, ...]]:
    """City -> addresses on the customer's file in it, but for the city that the order goes to
    now.
    """
    order, cities = base.orders[order_id], {key: row["city"] for key, row in base.addresses.items()}
    found: dict[str, tuple[str, ...]] = {}
    for key in base.addresses_of[order["customer_id"]]:
        if cities[key] != cities[order["address_id"]]:
            found[cities[key]] = (*found.get(cities[key], ()), key)
    return found


def fitting_cities(draw: Draw, order_id: str) -> dict[str, tuple[str, ...]]:
    """The destinations whose city names one address, or as many as the words may leave open."""
    low, high = draw.config.ambiguity if draw.slot == "address" else (1, 1)
    cities = destinations(draw.base, order_id).items()
    return {city: keys for city, keys in cities if low <= len(keys) <= high}


def has_other_address(base: BaseWorld, order_id: str) -> bool:
    """Whether a city names one address that the order could go to."""
    return any(len(keys) == 1 for keys in destinations(base, order_id).values())


def address(draw: Draw, order_id: str) -> Intent:
    """The order goes to another address on the customer's file: the one in a city, or, where that
    is left open, one of several in it.
    """
    fitting, is_open = fitting_cities(draw, order_id), draw.slot == "address"
    city = draw.rng.choice(sorted(fitting))
    address_id = draw.rng.choice(fitting[city])
    referent, missing = draw.refer(order_id), not is_open and draw.leaves_out()
    referent = replace(referent, candidates=max(referent.candidates, len(fitting[city])))
    street = {"street": draw.base.addresses[address_id]["street"]} if is_open else {}
    end = end_of("address", order=order_id, address=address_id)
    return draw.intent("address", referent, end, wanted=city, missing=missing, details=street)


def coupon(draw: Draw, order_id: str, code: str | None = None, tells: bool | None = None) -> Intent:
    """A coupon lowers the total of a pending order."""
    base = draw.base
    if code is None:
        code = draw.rng.choice(sorted(base.tables["coupons"]))
    tell = draw.rng.random() < 0.75 if tells is None else tells
    missing, referent = draw.leaves_out(), draw.refer(order_id)
    percent = base.tables["coupons"][code]["percent"]
    total_cents = base.cents(order_id, base.lines_of[order_id], percent)
    end = end_of("coupon", order=order_id, code=code, total=total_cents)
    return draw.intent("coupon", referent, end, wanted=code, missing=missing, tell=tell)


def compensation(draw: Draw, order_id: str) -> Intent:
    """Store credit for a parcel that came too late."""
    cents, owner = draw.base.rules.compensation_cents, draw.order(order_id)["customer_id"]
    end = end_of("compensation", order=order_id, cents=cents, owner=owner)
    return draw.intent("compensation", draw.refer(order_id), end)


def deserves_compensation(base: BaseWorld, order_id: str) -> bool:
    """R12, for an order that cost more than the compensation."""
    order, rules = base.orders[order_id], base.rules
    return (
        order["status"] == "delivered"
        and order["total_cents"] > rules.compensation_cents
        and "R12" in rules.in_force
        and is_late(rules, order["promised"], order["delivered"])
    )


MAKERS: Mapping[str, Maker] = {
    "cancel": cancel,
    "address": address,
    "exchange": exchange,
    "coupon": coupon,
    "compensation": compensation,
    "track": track,
    "track_by_id": track_by_id,
    "refund_query": refund_query,
    "return": return_,
    "return_all": return_all,
    "return_to_card": return_to_card,
    "gift_return": gift_return,
}
"""What makes each request about an order."""


def makers(base: BaseWorld, order_id: str, customer_id: str) -> dict[str, Maker]:
    """The feasible requests about an order of the customer, by kind; nothing of a gift comes back
    through the one who gave it.
    """
    order = base.orders[order_id]
    own = order["recipient_id"] is None
    back = own and bool(returnable(base, order_id, customer_id))
    feasible = {
        "cancel": True,
        "address": has_other_address(base, order_id),
        "exchange": any(other_colours(base, key) for key in base.lines_of[order_id]),
        "coupon": True,
        "return": back,
        "refund_query": back,
        "compensation": own and deserves_compensation(base, order_id),
        "track": order["status"] == "shipped" and order_id in base.shipment_of,
    }
    return {
        kind: MAKERS[kind]
        for kind, possible in feasible.items()
        if possible and refused_by_status(kind, order) is None
    }
