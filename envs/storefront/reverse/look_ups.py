"""What a customer may want to know of what an explorer has in view."""

from collections.abc import Iterator

from synth.envs.storefront.expert.belief import Belief
from synth.envs.storefront.expert.plan import Call
from synth.envs.storefront.reverse.writes import writes
from synth.envs.storefront.world.rules import Rules

LOOK_UPS = frozenset({"track_shipment", "quote_refund", "get_variant"})
"""Tools whose answer a customer can ask for."""
MOST_OF_A_TOOL = 12


def look_ups(belief: Belief, rules: Rules, today: str, customer_id: str) -> Iterator[Call]:
    """What a customer may want to know once their orders are known: where a parcel is, what a line
    would bring, what a thing costs.
    """
    own = {
        key: order
        for key, order in belief.orders.items()
        if order["customer_id"] == customer_id and order["recipient_id"] is None
    }
    sent = [key for key, order in own.items() if order["status"] == "shipped"]
    yield from (
        ("track_shipment", {"order_id": key})
        for key in sent[:MOST_OF_A_TOOL]
        if key not in belief.parcels
    )
    possible = (
        made
        for key in own
        for rule, made in writes(belief, rules, today, customer_id, key)
        if rule is None
    )
    lines = {
        (made["order_id"], *made["lines"])
        for name, made in possible
        if name == "create_return" and len(made["lines"]) == 1
    }
    yield from (
        ("quote_refund", {"order_id": key, "lines": [number]})
        for key, number in sorted(lines)[:MOST_OF_A_TOOL]
    )
    shown = [
        variant["sku"] for product in belief.products.values() for variant in product["variants"]
    ]
    yield from (
        ("get_variant", {"sku": sku})
        for sku in shown[:MOST_OF_A_TOOL]
        if sku not in belief.variants
    )
