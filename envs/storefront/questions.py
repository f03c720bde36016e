"""Requests that ask for something and change nothing, and the one that concerns somebody else."""

from envs.storefront.intents import Draw, Intent, Maker, gift_return, paid_cents, returnable, where, writers
from envs.storefront.script import Request
from envs.storefront.world import BaseWorld
from schemas.check import RowPredicate, ToldFact


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
    request = draw.request("track", draw.words("track", order=referent.phrase), referent, item=False)
    return Intent(request, dict(referent.details), told=parcel_facts(draw.base, order_id), referent=referent)


def parcel_facts(base: BaseWorld, order_id: str) -> tuple[ToldFact, ...]:
    """Status and day of arrival."""
    shipment = base.tables["shipments"][base.shipment_of[order_id][0]]
    return (ToldFact("status", shipment["status"], order_id), ToldFact("date", shipment["arrives"], order_id))


def price_query(draw: Draw) -> Intent:
    """A question that concerns no order: the price now, or the one before."""
    sku = draw.rng.choice(sorted(draw.base.tables["variants"]))
    variant = draw.base.tables["variants"][sku]
    noun = draw.base.tables["products"][variant["product_id"]]["noun"]
    size = None if variant["size"] == "one" else variant["size"]
    words = f"{variant['colour']} {noun}" + (f" in size {size}" if size else "")
    former = variant["former_price_cents"] != variant["price_cents"] and draw.rng.random() < 0.25
    text = draw.words("former_price" if former else "price_query", item=words)
    request = Request(draw.number, "price_query", text, colour=variant["colour"], noun=noun, size=size, former=former)
    return Intent(request, told=(ToldFact("money", variant["former_price_cents" if former else "price_cents"], sku),))


def out_of_scope(draw: Draw) -> Intent:
    """R13: somebody else's matter, which is escalated."""
    request = Request(draw.number, "out_of_scope", draw.words("out_of_scope"))
    return Intent(request, required=(RowPredicate("escalations", {"reason_code": "out_of_scope"}),), twists=("out_of_scope",))


def makers(base: BaseWorld, order_id: str, customer_id: str) -> dict[str, Maker]:
    """The feasible requests about an order of the customer, by kind."""
    found = writers(base, order_id, customer_id)
    order = base.tables["orders"][order_id]
    if "return" in found:
        found["refund_query"] = refund_query
    if order["status"] == "shipped" and base.shipment_of.get(order_id):
        found["track"] = track
    return found


def gift_request(draw: Draw) -> Intent | None:
    """The return of a gift that the customer was given, if there is one that can go back."""
    orders = draw.base.tables["orders"]
    own = draw.base.tables["customers"][draw.customer_id]["name"]
    for order_id in draw.base.gifts_of.get(draw.customer_id, ()):
        giver = draw.base.tables["customers"][orders[order_id]["customer_id"]]["name"]
        if giver != own and returnable(draw.base, order_id, draw.customer_id):
            return gift_return(draw, order_id)
    return None
