"""Requests that ask for something and change nothing, the one that concerns somebody else, and what
can be asked about an order.
"""

from collections.abc import Collection

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.tasks.intents import (
    Draw,
    Intent,
    Maker,
    address,
    cancel,
    compensation,
    coupon,
    deserves_compensation,
    exchange,
    has_other_address,
    other_colours,
    where,
)
from synth.envs.storefront.tasks.returns import gift_return, paid_cents, return_, returnable
from synth.envs.storefront.world.rules import BEFORE_SHIPPING, CANCELLABLE
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import RowPredicate, ToldFact


def refund_query(draw: Draw, order_id: str) -> Intent:
    """What a return would bring."""
    referent = draw.refer(order_id, returnable(draw.base, order_id, draw.customer_id))
    text = draw.words("refund_query", item=referent.item, where=where(referent, "from"))
    fact = ToldFact("money", paid_cents(draw.base, order_id, [referent.line_key]), order_id)
    request = draw.request("refund_query", text, referent, item=True)
    return Intent(request, dict(referent.details), told=(fact,), referent=referent)


def track(draw: Draw, order_id: str) -> Intent:
    """Where a parcel is, and when it arrives."""
    referent = draw.refer(order_id)
    request = draw.request(
        "track", draw.words("track", order=referent.phrase), referent, item=False
    )
    return Intent(
        request, dict(referent.details), told=parcel_facts(draw.base, order_id), referent=referent
    )


def parcel_facts(base: BaseWorld, order_id: str) -> tuple[ToldFact, ...]:
    """Status and day of arrival."""
    shipment = base.tables["shipments"][base.shipment_of[order_id][0]]
    return (
        ToldFact("status", shipment["status"], order_id),
        ToldFact("date", shipment["arrives"], order_id),
    )


def price_query(
    draw: Draw, spoken_of: Collection[str | None] = (), sku: str | None = None
) -> Intent:
    """A question that concerns no order, and no product that was spoken of: the price now, or the
    one before.
    """
    products, variants = draw.base.tables["products"], draw.base.tables["variants"]
    if sku is None:
        sku = draw.rng.choice(
            [
                key
                for key in sorted(variants)
                if products[variants[key]["product_id"]]["noun"] not in spoken_of
            ]
        )
    variant, noun = variants[sku], products[variants[sku]["product_id"]]["noun"]
    size = None if variant["size"] == "one" else variant["size"]
    words = f"{variant['colour']} {noun}" + (f" in size {size}" if size else "")
    former = variant["former_price_cents"] != variant["price_cents"] and draw.rng.random() < 0.25
    text = draw.words("former_price" if former else "price_query", item=words)
    request = Request(
        draw.number,
        "price_query",
        text,
        colour=variant["colour"],
        noun=noun,
        size=size,
        former=former,
    )
    return Intent(
        request,
        told=(ToldFact("money", variant["former_price_cents" if former else "price_cents"], sku),),
    )


def out_of_scope(draw: Draw) -> Intent:
    """R13: somebody else's matter, which is escalated."""
    request = Request(draw.number, "out_of_scope", draw.words("out_of_scope"))
    return Intent(
        request,
        required=(RowPredicate("escalations", {"reason_code": "out_of_scope"}),),
        twists=("out_of_scope",),
    )


def makers(base: BaseWorld, order_id: str, customer_id: str) -> dict[str, Maker]:
    """The feasible requests about an order of the customer, by kind; nothing of a gift comes back
    through the one who gave it.
    """
    order = base.tables["orders"][order_id]
    found: dict[str, Maker] = {}
    if order["status"] in CANCELLABLE:
        found["cancel"] = cancel
    if order["status"] in BEFORE_SHIPPING and has_other_address(base, order_id):
        found["address"] = address
    if order["status"] == "pending" and any(
        other_colours(base, key) for key in base.lines_of[order_id]
    ):
        found["exchange"] = exchange
    if order["status"] == "pending" and order["coupon"] is None:
        found["coupon"] = coupon
    if order["recipient_id"] is None and returnable(base, order_id, customer_id):
        found["return"], found["refund_query"] = return_, refund_query
    if order["recipient_id"] is None and deserves_compensation(base, order_id):
        found["compensation"] = compensation
    if order["status"] == "shipped" and base.shipment_of.get(order_id):
        found["track"] = track
    return found


def gift_request(draw: Draw) -> Intent | None:
    """The return of a gift that the customer was given, if there is one that can go back; by its
    giver's name where they gave one only.
    """
    orders, customers = draw.base.tables["orders"], draw.base.tables["customers"]
    gifts = [
        key
        for key in draw.base.gifts_of.get(draw.customer_id, ())
        if orders[key]["status"] == "delivered"
    ]
    givers = [customers[orders[key]["customer_id"]]["name"] for key in gifts]
    for order_id, giver in zip(gifts, givers, strict=True):
        if giver != customers[draw.customer_id]["name"] and returnable(
            draw.base, order_id, draw.customer_id
        ):
            return gift_return(
                draw, order_id, by_id=givers.count(giver) > 1 or draw.rng.random() < 0.5
            )
    return None
