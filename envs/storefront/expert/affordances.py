"""What could be done now with what has been observed: for explorers that pick one of these
turns.
"""

from collections.abc import Iterator
from typing import Any

from synth.envs.storefront.expert.belief import Belief, Shown, noun
from synth.envs.storefront.expert.plan import Call, turn_of
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.policy_text import TOPICS
from synth.envs.storefront.tools.schemas import (
    FACTORS,
    METHODS,
    MONEY_WRITES,
    REASONS,
    STORE_CREDIT,
)
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
    for field in FACTORS:
        yield "ask_customer", {"field": field}
    yield "reply", {"message": "One moment, please."}
    for topic in TOPICS:
        yield "get_policy", {"topic": topic}
    yield "finish", {"message": "Thank you. Goodbye!"}


def _customers(belief: Belief) -> Iterator[Call]:
    said = {field: value for field, value in belief.slots.items() if value}
    for fields in (("email",), ("phone",), ("name", "zip")):
        if said.keys() >= set(fields):
            yield "find_customer", {field: said[field] for field in fields}
    for customer_id in belief.accounts:
        of_them: dict[str, Any] = {"customer_id": customer_id}
        for factor in filter(said.__contains__, FACTORS):
            yield "verify_identity", {**of_them, "factor": factor, "value": said[factor]}
        yield "get_customer", of_them
        pages = belief.pages.get(customer_id, {}).get(1, {"pages": 1})["pages"]
        for page in range(1, pages + 1):
            yield "list_orders", {**of_them, "page": page}


def _products(belief: Belief) -> Iterator[Call]:
    for name in sorted({name for items in belief.items.values() for _, name in items}):
        yield "search_products", {"query": name}


def _orders(belief: Belief) -> Iterator[Call]:
    for order_id in belief.skus_listed:
        yield "get_order", {"order_id": order_id}
    for order_id, order in belief.orders.items():
        of_it: dict[str, Any] = {"order_id": order_id}
        yield "track_shipment", of_it
        for number in [line["line"] for line in order["lines"]]:
            yield "quote_refund", {**of_it, "lines": [number]}
            for method in METHODS:
                yield "create_return", {**of_it, "lines": [number], "method": method}
        for reason in REASONS[:-1]:
            yield "cancel_order", {**of_it, "reason": reason}
        for tool, arguments in _changes(belief, order):
            yield tool, {**of_it, **arguments}


def _changes(belief: Belief, order: Shown) -> Iterator[Call]:
    for address in belief.files.get(order["customer_id"], {}).get("addresses", ()):
        if address["address_id"] != order["address_id"]:
            yield "change_address", {"address_id": address["address_id"]}
    for line in order["lines"]:
        product = belief.products.get(noun(line["product"]), {"variants": ()})
        for variant in product["variants"]:
            if variant["sku"] != line["sku"] and variant["size"] == line["size"]:
                yield "modify_lines", {"lines": {str(line["line"]): variant["sku"]}}
    for (quoted, _), amount in belief.quotes.items():
        for to in (order["payment_id"], STORE_CREDIT) if quoted == order["order_id"] else ():
            yield "issue_refund", {"amount": amount, "to": to}
