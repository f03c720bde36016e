"""Requests that ask for something and change nothing, and the one that concerns somebody else."""

from collections.abc import Collection

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.tasks.intents import Draw, End, Intent, end_of
from synth.envs.storefront.tasks.referents import by_id
from synth.envs.storefront.tasks.returns import returnable
from synth.envs.storefront.world.world import BaseWorld


def refund_query(draw: Draw, order_id: str) -> Intent:
    """What a return would bring."""
    referent = draw.refer(order_id, returnable(draw.base, order_id, draw.customer_id))
    cents = draw.base.cents(order_id, [referent.line_key])
    return draw.intent(
        "refund_query", referent, end_of("refund_query", order=order_id, cents=cents)
    )


def track(draw: Draw, order_id: str) -> Intent:
    """Where a parcel is, and when it arrives."""
    return draw.intent("track", draw.refer(order_id), parcel(draw.base, order_id))


def track_by_id(draw: Draw, order_id: str) -> Intent:
    """The parcel of an order that is named by its id."""
    return draw.intent("track", by_id(draw.base, order_id), parcel(draw.base, order_id))


def parcel(base: BaseWorld, order_id: str) -> End:
    """Status and day of arrival are told."""
    shipment = base.tables["shipments"][base.shipment_of[order_id][0]]
    return end_of("track", order=order_id, status=shipment["status"], arrives=shipment["arrives"])


def price_query(
    draw: Draw, spoken_of: Collection[str | None] = (), sku: str | None = None
) -> Intent:
    """A question that concerns no order, and no product that was spoken of: the price now, or the
    one before.
    """
    variants, products = draw.base.tables["variants"], draw.base.tables["products"]
    nouns = {key: products[row["product_id"]]["noun"] for key, row in variants.items()}
    if sku is None:
        sku = draw.rng.choice([key for key in sorted(nouns) if nouns[key] not in spoken_of])
    variant, noun = variants[sku], nouns[sku]
    size = None if variant["size"] == "one" else variant["size"]
    words = f"{variant['colour']} {noun}" + (f" in size {size}" if size else "")
    former = variant["former_price_cents"] != variant["price_cents"] and draw.rng.random() < 0.25
    text = draw.words("former_price" if former else "price_query", item=words)
    cents = variant["former_price_cents" if former else "price_cents"]
    request = Request(
        draw.number,
        "price_query",
        text,
        colour=variant["colour"],
        noun=noun,
        size=size,
        former=former,
    )
    return Intent(request).ending(end_of("price_query", cents=cents, sku=sku))


def out_of_scope(draw: Draw, end: str = "out_of_scope") -> Intent:
    """R13: somebody else's matter, which is escalated."""
    request = Request(draw.number, "out_of_scope", draw.words("out_of_scope"))
    return Intent(request).ending(end_of(end), twists=("out_of_scope",))
