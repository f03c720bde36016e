"""The writes that an order invites, each with the rule that forbids it, as they follow from what
was observed.
"""

from collections.abc import Iterator
from typing import Any

from synth.envs.storefront.expert.belief import Belief, Shown, noun
from synth.envs.storefront.expert.plan import Call
from synth.envs.storefront.tools.schemas import METHODS, REASONS, STORE_CREDIT
from synth.envs.storefront.world.rules import (
    CANCELLABLE,
    Rules,
    above_limit,
    dollars,
    is_final_sale,
    is_late,
    within_window,
)

Ruled = tuple[str | None, Call]
"""The rule that forbids a call, None where none does."""
SENT = frozenset({"shipped", "delivered"})
"""Statuses of orders with which little can be done any more."""


def writes(
    belief: Belief, rules: Rules, today: str, customer_id: str, order_id: str
) -> Iterator[Ruled]:
    """All of them; with a gift from somebody else, its return; with what is neither theirs nor for
    them, nothing.
    """
    order = belief.orders[order_id]
    if customer_id not in (order["customer_id"], order["recipient_id"]):
        return
    if order["customer_id"] == customer_id:
        yield from _cancellations(order)
        yield from _addresses(belief, order)
        yield from _exchanges(belief, order)
        yield from _coupons(belief, order)
    if order["status"] == "delivered":
        yield from _returns(belief, rules, today, customer_id, order)
        if order["recipient_id"] is None:
            yield from _refunds(belief, rules, today, customer_id, order)


def line_sets(order: Shown) -> list[tuple[int, ...]]:
    """The lines that could go back together: each alone, and all."""
    numbers = [line["line"] for line in order["lines"]]
    return [*((number,) for number in numbers), *([tuple(numbers)] if len(numbers) > 1 else [])]


def _cancellations(order: Shown) -> Iterator[Ruled]:
    """R3."""
    if order["status"] in CANCELLABLE | SENT:
        rule = None if order["status"] in CANCELLABLE else "R3"
        yield from (
            (rule, ("cancel_order", {"order_id": order["order_id"], "reason": reason}))
            for reason in REASONS[:-1]
        )


def _addresses(belief: Belief, order: Shown) -> Iterator[Ruled]:
    """R11: to addresses on the file in other cities, and, while it can be sent elsewhere, to those
    of the gifts of others; where it was
    sent already, to a city that names one address.
    """
    on_file = {
        row["address_id"]: row["city"] for row in belief.files[order["customer_id"]]["addresses"]
    }
    others = {
        key: city for key, city in on_file.items() if city != on_file.get(order["address_id"])
    }
    if order["status"] in CANCELLABLE:
        yield from ((None, _move(order, address_id)) for address_id in others)
        elsewhere = dict.fromkeys(
            other["address_id"]
            for other in belief.orders.values()
            if other["address_id"] not in on_file
        )
        yield from (("R11", _move(order, address_id)) for address_id in elsewhere)
    if order["status"] in SENT:
        cities = list(others.values())
        yield from (
            ("R11", _move(order, address_id))
            for address_id, city in others.items()
            if cities.count(city) == 1
        )


def _move(order: Shown, address_id: str) -> Call:
    return "change_address", {"order_id": order["order_id"], "address_id": address_id}


def _exchanges(belief: Belief, order: Shown) -> Iterator[Ruled]:
    """R7: for other colours in the same size, of which there are some, and which the customer has
    not ordered already.
    """
    ordered = {
        item
        for order_id, items in belief.items.items()
        if order_id in belief.skus_listed
        for item in items
    }
    rule = None if order["status"] == "pending" and not order["modified"] else "R7"
    if order["status"] in CANCELLABLE | SENT:
        for line in order["lines"]:
            product: dict[str, Any] = belief.products.get(noun(line["product"]), {"variants": ()})
            for variant in product["variants"]:
                is_new = (variant["colour"], noun(line["product"])) not in ordered
                if is_new and variant["size"] == line["size"] and variant["in_stock"]:
                    lines = {str(line["line"]): variant["sku"]}
                    yield rule, ("modify_lines", {"order_id": order["order_id"], "lines": lines})


def _coupons(belief: Belief, order: Shown) -> Iterator[Ruled]:
    """R9: the coupon that the customer has, and those of their other orders; what is late for a
    coupon has none yet.
    """
    codes = dict.fromkeys(
        [
            *filter(None, [belief.slots.get("coupon")]),
            *(other["coupon"] for other in belief.orders.values() if other["coupon"] is not None),
        ]
    )
    if order["status"] == "pending" or (
        order["status"] in CANCELLABLE | SENT and order["coupon"] is None
    ):
        rule = None if order["status"] == "pending" and order["coupon"] is None else "R9"
        for code in codes:
            if code != order["coupon"]:
                yield rule, ("apply_coupon", {"order_id": order["order_id"], "code": code})


def _returns(
    belief: Belief, rules: Rules, today: str, customer_id: str, order: Shown
) -> Iterator[Ruled]:
    """R15, R4, R8: what none of them forbids, and of the customer's own orders what one does;
    several lines only where all may go back.
    """
    own = order["customer_id"] == customer_id
    given = own and order["recipient_id"] is not None
    late = not within_window(rules, belief.files[customer_id]["tier"], order["delivered"], today)
    sold_finally = {
        line["line"] for line in order["lines"] if is_final_sale(rules, line["category"])
    }
    for lines in line_sets(order):
        final = not sold_finally.isdisjoint(lines)
        forbidding = [
            rule for rule, forbids in (("R15", given), ("R4", late), ("R8", final)) if forbids
        ]
        if len(forbidding) <= (1 if own else 0) and (len(lines) == 1 or (own and not final)):
            for method in METHODS:
                call: Call = (
                    "create_return",
                    {"order_id": order["order_id"], "lines": list(lines), "method": method},
                )
                yield next(iter(forbidding), None), call


def _refunds(
    belief: Belief, rules: Rules, today: str, customer_id: str, order: Shown
) -> Iterator[Ruled]:
    """R12: the compensation that the policy names; R5: what lines that could go back are worth, to
    a card that the order was not paid
    with.
    """
    order_id = order["order_id"]
    if (
        "R12" in rules.in_force
        and order["total"] > dollars(rules.compensation_cents)
        and order["refunded"] == 0
    ):
        late = is_late(rules, order["promised"], order["delivered"])
        amount = dollars(rules.compensation_cents)
        yield (
            None if late else "R12",
            ("issue_refund", {"order_id": order_id, "amount": amount, "to": STORE_CREDIT}),
        )
    returns = [
        call for rule, call in _returns(belief, rules, today, customer_id, order) if rule is None
    ]
    quotes = dict.fromkeys(
        belief.quotes.get((order_id, tuple(made["lines"]))) for _, made in returns
    )
    for card in (
        belief.files[customer_id]["payment_methods"]
        if not above_limit(rules, round(order["total"] * 100))
        else ()
    ):
        if card["kind"] == "card" and card["payment_id"] != order["payment_id"]:
            worth = (quoted for quoted in quotes if quoted is not None)
            yield from (
                (
                    "R5",
                    (
                        "issue_refund",
                        {"order_id": order_id, "amount": quoted, "to": card["payment_id"]},
                    ),
                )
                for quoted in worth
            )
