"""What could be done now with what has been observed: for explorers that pick one of these
turns.
"""

from collections.abc import Iterator

from synth.envs.storefront.expert.belief import Belief
from synth.envs.storefront.expert.plan import Call, turn_of
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.policy_text import TOPICS
from synth.envs.storefront.tools.schemas import METHODS, MONEY_WRITES, REASONS, STORE_CREDIT
from synth.schemas.environment import AgentTurn

MOST = 200


def afforded(belief: Belief) -> tuple[AgentTurn, ...]:
    """One call per turn, at most 200, in a fixed order; ids come from observations only, and the
    policy may forbid some.
    """
    found = [*_talk(belief), *_customers(belief), *_products(belief), *_orders(belief)]
    calls = [step for call in found for step in _agreed(belief, call)][:MOST]
    return tuple(turn_of(belief.exchanges, [call]) for call in calls)


def _agreed(belief: Belief, call: Call) -> Iterator[Call]:
    """A write that moves money after the question for leave, as if for the first request."""
    tool, arguments = call
    if tool in MONEY_WRITES and act(tool, arguments) not in belief.agreed:
        made = {"request": 1, "write": tool, "arguments": arguments}
        yield "confirm_with_customer", made
    yield call


def _talk(belief: Belief) -> Iterator[Call]:
    for field in ("email", "phone", "zip"):
        yield "ask_customer", {"field": field}
    yield "reply", {"message": "One moment, please."}
    for topic in TOPICS:
        yield "get_policy", {"topic": topic}
    yield "finish", {"message": "Thank you. Goodbye!"}


def _customers(belief: Belief) -> Iterator[Call]:
    for factor in ("email", "phone"):
        if belief.slots.get(factor):
            yield "find_customer", {factor: belief.slots[factor]}
    if belief.slots.get("name") and belief.slots.get("zip"):
        yield "find_customer", {"name": belief.slots["name"], "zip": belief.slots["zip"]}
    for customer_id in belief.accounts:
        for factor in ("email", "phone", "zip"):
            if belief.slots.get(factor):
                yield (
                    "verify_identity",
                    {"customer_id": customer_id, "factor": factor, "value": belief.slots[factor]},
                )
        yield "get_customer", {"customer_id": customer_id}
        pages = belief.pages.get(customer_id, {})
        for page in range(1, (pages[1]["pages"] if 1 in pages else 1) + 1):
            yield "list_orders", {"customer_id": customer_id, "page": page}


def _products(belief: Belief) -> Iterator[Call]:
    for noun in sorted({noun for items in belief.items.values() for _, noun in items}):
        yield "search_products", {"query": noun}


def _orders(belief: Belief) -> Iterator[Call]:
    for order_id in belief.skus_listed:
        yield "get_order", {"order_id": order_id}
    for order_id, order in belief.orders.items():
        numbers = [line["line"] for line in order["lines"]]
        yield "track_shipment", {"order_id": order_id}
        for number in numbers:
            yield "quote_refund", {"order_id": order_id, "lines": [number]}
            for method in METHODS:
                yield "create_return", {"order_id": order_id, "lines": [number], "method": method}
        for reason in REASONS[:-1]:
            yield "cancel_order", {"order_id": order_id, "reason": reason}
        yield from _changes(belief, order_id)


def _changes(belief: Belief, order_id: str) -> Iterator[Call]:
    order = belief.orders[order_id]
    for address in belief.files.get(order["customer_id"], {}).get("addresses", ()):
        if address["address_id"] != order["address_id"]:
            yield "change_address", {"order_id": order_id, "address_id": address["address_id"]}
    for line in order["lines"]:
        product = belief.products.get(line["product"].rsplit(" ", 1)[-1])
        for variant in product["variants"] if product is not None else ():
            if variant["sku"] != line["sku"] and variant["size"] == line["size"]:
                yield (
                    "modify_lines",
                    {"order_id": order_id, "lines": {str(line["line"]): variant["sku"]}},
                )
    for (quoted, _), amount in belief.quotes.items():
        if quoted == order_id:
            yield (
                "issue_refund",
                {"order_id": order_id, "amount": amount, "to": order["payment_id"]},
            )
            yield "issue_refund", {"order_id": order_id, "amount": amount, "to": STORE_CREDIT}
