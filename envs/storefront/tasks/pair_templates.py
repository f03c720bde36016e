"""Where a rule and one fact decide over a request: the minimal pairs that a customer's orders
allow.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from random import Random

from synth.envs.storefront.tasks.intents import (
    Draw,
    Intent,
    address,
    cancel,
    compensation,
    coupon,
    deserves_compensation,
    destinations,
    exchange,
    has_other_address,
    other_colours,
)
from synth.envs.storefront.tasks.pairs import Pair
from synth.envs.storefront.tasks.questions import track
from synth.envs.storefront.tasks.referents import Referent
from synth.envs.storefront.tasks.returns import (
    cards,
    gift_return,
    refunded,
    return_,
    return_to_card,
    returnable,
)
from synth.envs.storefront.world.rules import above_limit, within_window
from synth.envs.storefront.world.world import BaseWorld, patched

DELIVERED_AROUND = 4
"""Days by which a pair's deliveries lie apart from the window's end, at most."""
Template = Callable[[BaseWorld, str, Random], Iterator[Pair]]


def _where(base: BaseWorld, customer_id: str, *statuses: str) -> list[str]:
    orders = base.tables["orders"]
    mine = [
        key for key in base.orders_of.get(customer_id, ()) if orders[key]["recipient_id"] is None
    ]
    return [key for key in mine if orders[key]["status"] in statuses]


def _shipped(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R3 and R11."""
    for key in _where(base, customer_id, "shipped"):
        yield Pair("R3", key, cancel, f"orders/{key}/status", "shipped", "pending")
        if has_other_address(base, key):
            yield Pair("R11", key, address, f"orders/{key}/status", "shipped", "pending")


def _late(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R4."""
    today, window = (
        date.fromisoformat(base.today),
        base.rules.window_days[base.tables["customers"][customer_id]["tier"]],
    )
    over, within = rng.randrange(1, DELIVERED_AROUND), rng.randrange(0, DELIVERED_AROUND)
    late, still = (
        (today - timedelta(days=days)).isoformat() for days in (window + over, window - within)
    )
    for key in _where(base, customer_id, "delivered"):
        path = f"orders/{key}/delivered"
        if base.tables["orders"][key]["placed"] < late and returnable(
            patched(base, ((path, still),)), key, customer_id
        ):
            yield Pair("R4", key, return_, path, late, still)


def _sold_finally(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R8, for the only line of an order."""
    return (pair for pair in _final_sales(base, customer_id) if not pair.partly)


def _partly_sold_finally(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R8, for one line of several: the customer wants to return all, and the others can go back."""
    return (pair for pair in _final_sales(base, customer_id) if pair.partly)


def _final_sales(base: BaseWorld, customer_id: str) -> Iterator[Pair]:
    tables, sale = base.tables, base.rules.final_sale[0]
    for key in _where(base, customer_id, "delivered"):
        lines = list(base.lines_of[key])
        if returnable(base, key, customer_id) != lines:
            continue
        product_ids = [
            tables["variants"][tables["lines"][line]["sku"]]["product_id"] for line in lines
        ]
        path, allowing = (
            f"products/{product_ids[0]}/category",
            tables["products"][product_ids[0]]["category"],
        )
        if len(lines) == 1:
            yield Pair("R8", key, return_, path, sale, allowing)
        elif product_ids[0] not in product_ids[1:]:
            yield Pair("R8", key, _return_all, path, sale, allowing, tuple(lines[1:]))


def _by_id(base: BaseWorld, order_id: str) -> Referent:
    return Referent(order_id, base.lines_of[order_id][0], True, 1, f"order {order_id}", "")


def _return_all(draw: Draw, order_id: str) -> Intent:
    referent = _by_id(draw.base, order_id)
    request = draw.request(
        "return", draw.words("return_all", order=referent.phrase), referent, item=False
    )
    method, refund_to = draw.detail("method"), draw.detail("refund_to")
    required, free = refunded(draw, order_id, list(draw.base.lines_of[order_id]), method, refund_to)
    return Intent(
        request,
        {"method": method, "refund_to": refund_to},
        tuple(required),
        tuple(free),
        referent=referent,
    )


def _pending(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R7 and R9."""
    for key in _where(base, customer_id, "pending"):
        if any(other_colours(base, line) for line in base.lines_of[key]):
            yield Pair("R7", key, exchange, f"orders/{key}/modified", True, False)
        if base.tables["orders"][key]["coupon"] is None:
            yield Pair("R9", key, coupon, f"orders/{key}/status", "processing", "pending")


def _promised(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R12."""
    for key in _where(base, customer_id, "delivered"):
        order, path = base.tables["orders"][key], f"orders/{key}/promised"
        delivered = date.fromisoformat(order["delivered"])
        late, punctual = (
            (delivered - timedelta(days=base.rules.late_days + more)).isoformat() for more in (1, 0)
        )
        if late > order["placed"] and deserves_compensation(patched(base, ((path, late),)), key):
            yield Pair("R12", key, compensation, path, punctual, late)


def _gifts(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R10: an order of somebody else is sent back, or its parcel asked for."""
    name = base.tables["customers"][customer_id]["name"]
    for key, order in sorted(base.tables["orders"].items()):
        if base.tables["customers"][order["customer_id"]]["name"] == name or order[
            "recipient_id"
        ] not in (None, customer_id):
            continue
        path = f"orders/{key}/recipient_id"
        if order["status"] == "shipped":
            yield Pair("R10", key, _track_by_id, path, None, customer_id)
        elif (
            len(returnable(base, key, customer_id)) == len(base.lines_of[key])
            and "R15" in base.rules.in_force
        ):
            yield Pair("R10", key, gift_return, path, None, customer_id)


def _track_by_id(draw: Draw, order_id: str) -> Intent:
    return track(replace(draw, referent=_by_id(draw.base, order_id)), order_id)


def _off_file(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R11: the address that the customer names is not on their file."""
    addresses = base.tables["addresses"]
    present = {addresses[key]["city"] for key in base.addresses_of[customer_id]}
    absent = sorted({row["city"] for row in addresses.values()} - present)
    for key in _where(base, customer_id, "pending", "processing"):
        alone = [
            (city, keys[0])
            for city, keys in sorted(destinations(base, key).items())
            if len(keys) == 1
        ]
        if len(alone) == 1 and absent:
            city, address_id = alone[0]
            yield Pair(
                "R11",
                key,
                address,
                f"addresses/{address_id}/city",
                rng.choice(absent),
                city,
                claim="R11 file",
                evidence=customer_id,
            )


def _paid_otherwise(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R5: the money is to go to a card that the order was paid with, or was not."""
    for key in _where(base, customer_id, "delivered"):
        allowing = rng.choice(cards(base, customer_id))
        others = [payment for payment in base.payments_of[customer_id] if payment != allowing]
        small = not above_limit(base.rules, base.tables["orders"][key]["total_cents"])
        if others and small and returnable(base, key, customer_id):
            yield Pair(
                "R5", key, return_to_card, f"orders/{key}/payment_id", rng.choice(others), allowing
            )


def _placed_for_others(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R15: the one who gave a gift wants to send it back."""
    customers = base.tables["customers"]
    for key in _where(base, customer_id, "delivered"):
        delivered = base.tables["orders"][key]["delivered"]
        others = [
            other
            for other, row in sorted(customers.items())
            if row["name"] != customers[customer_id]["name"]
            and within_window(base.rules, row["tier"], delivered, base.today)
        ]
        if others and len(returnable(base, key, customer_id)) == len(base.lines_of[key]):
            yield Pair("R15", key, return_, f"orders/{key}/recipient_id", rng.choice(others), None)


def _unverified(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """R1: of the two factors that the customer knows one is not the one on file."""
    row = base.tables["customers"][customer_id]
    if len(base.customers_by["name"][row["name"]]) > 1:
        return
    path, other = (
        f"customers/{customer_id}/zip",
        str(10_000 + (int(row["zip"]) + rng.randrange(1, 80_000)) % 89_999),
    )
    for key in _where(base, customer_id, "pending", "processing"):
        yield Pair(
            "R1", key, cancel, path, other, row["zip"], evidence=customer_id, known=("email", "zip")
        )
    for key in _where(base, customer_id, "delivered"):
        if returnable(base, key, customer_id):
            yield Pair(
                "R1",
                key,
                return_,
                path,
                other,
                row["zip"],
                evidence=customer_id,
                known=("email", "zip"),
            )


TEMPLATES: tuple[Template, ...] = (
    *(
        _shipped,
        _shipped,
        _late,
        _late,
        _sold_finally,
        _partly_sold_finally,
        _partly_sold_finally,
        _pending,
        _pending,
        _promised,
    ),
    *(_gifts, _off_file, _paid_otherwise, _paid_otherwise, _placed_for_others, _unverified),
)
"""As often as each is tried first."""


def draw_pair(rng: Random, base: BaseWorld, customer_id: str) -> Pair | None:
    """One of the customer's possible pairs whose rule is in force."""
    for template in rng.sample(TEMPLATES, len(TEMPLATES)):
        found = [
            pair for pair in template(base, customer_id, rng) if pair.rule in base.rules.in_force
        ]
        if found:
            return rng.choice(found)
    return None
