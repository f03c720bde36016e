"""The writes that an order invites, each with the rule that forbids it, as they follow from what
was observed; and what a customer may want to know.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    refused_by_status,
    within_window,
)

Ruled = tuple[str | None, Call]
"""The rule that forbids a call, None where none does."""
SENT = frozenset({"shipped", "delivered"})
"""Statuses of orders with which little can be done any more."""
ANSWERS: Mapping[str, str] = {
    "track_shipment": "track",
    "quote_refund": "refund_query",
    "get_variant": "price_query",
}
"""A tool, and the kind of request that its answer is asked for by."""
LOOK_UPS = frozenset(ANSWERS)
"""Tools whose answer a customer can ask for."""
MOST_OF_A_TOOL = 12


def line_sets(order: Shown) -> list[tuple[int, ...]]:
    """The lines that could go back together: each alone, and all."""
    numbers = [line["line"] for line in order["lines"]]
    return [*((number,) for number in numbers), *([tuple(numbers)] if len(numbers) > 1 else [])]


@dataclass(frozen=True, slots=True)
class ExploredWrite:
    """What was observed, the policy, and the customer whose matters these are."""

    belief: Belief
    rules: Rules
    today: str
    customer_id: str

    def writes(self, order_id: str) -> Iterator[Ruled]:
        """All of an order; with a gift from somebody else, its return; with what is neither theirs
        nor for them, nothing.
        """
        order = self.belief.orders[order_id]
        own, delivered = order["customer_id"] == self.customer_id, order["status"] == "delivered"
        if own and order["status"] in CANCELLABLE | SENT:
            yield from self._changes(order)
        if delivered and (own or order["recipient_id"] == self.customer_id):
            yield from self._returns(order)
            if order["recipient_id"] is None:
                yield from self._refunds(order)

    def _changes(self, order: Shown) -> Iterator[Ruled]:
        """R3, R7, R9, R11, as the order stands: cancelled, sent elsewhere, with other lines, with a
        coupon.
        """
        at = {"order_id": order["order_id"]}
        rule = refused_by_status("cancel", order)
        yield from ((rule, ("cancel_order", {**at, "reason": reason})) for reason in REASONS[:-1])
        for rule, address_id in self._addresses(order):
            yield rule, ("change_address", {**at, "address_id": address_id})
        rule = refused_by_status("exchange", order)
        for line, sku in self._exchanges(order):
            yield rule, ("modify_lines", {**at, "lines": {str(line): sku}})
        rule = refused_by_status("coupon", order)
        if order["status"] == "pending" or order["coupon"] is None:
            for code in self._codes():
                if code != order["coupon"]:
                    yield rule, ("apply_coupon", {**at, "code": code})

    def _addresses(self, order: Shown) -> Iterator[tuple[str | None, str]]:
        """To addresses on the file in other cities, and, while it can be sent elsewhere, to those
        of the gifts of others; where it was sent already, to a city that names one address.
        """
        rows = self.belief.files[self.customer_id]["addresses"]
        on_file = {row["address_id"]: row["city"] for row in rows}
        now, rule = on_file.get(order["address_id"]), refused_by_status("address", order)
        others = {key: city for key, city in on_file.items() if city != now}
        cities = list(others.values())
        for key, city in others.items():
            if rule is None or cities.count(city) == 1:
                yield rule, key
        used = dict.fromkeys(other["address_id"] for other in self.belief.orders.values())
        yield from (("R11", key) for key in used if rule is None and key not in on_file)

    def _exchanges(self, order: Shown) -> Iterator[tuple[int, str]]:
        """For other colours in the same size, of which there are some, and which the customer has
        not ordered already.
        """
        belief = self.belief
        ordered = {item for key in belief.skus_listed for item in belief.items.get(key, ())}
        for line in order["lines"]:
            name = noun(line["product"])
            for variant in belief.products.get(name, {"variants": ()})["variants"]:
                is_new = (variant["colour"], name) not in ordered
                if is_new and variant["size"] == line["size"] and variant["in_stock"]:
                    yield line["line"], variant["sku"]

    def _codes(self) -> list[str]:
        """The coupon that the customer has, and those of their other orders."""
        used = (order["coupon"] for order in self.belief.orders.values())
        return list(dict.fromkeys(filter(None, [self.belief.slots.get("coupon"), *used])))

    def _returns(self, order: Shown) -> Iterator[Ruled]:
        """R15, R4, R8: what none of them forbids, and of the customer's own orders what one does;
        several lines only where all may go back.
        """
        rules, tier = self.rules, self.belief.files[self.customer_id]["tier"]
        own = order["customer_id"] == self.customer_id
        given = own and order["recipient_id"] is not None
        late = not within_window(rules, tier, order["delivered"], self.today)
        category = {line["line"]: line["category"] for line in order["lines"]}
        for lines in line_sets(order):
            final = any(is_final_sale(rules, category[line]) for line in lines)
            reasons = {"R15": given, "R4": late, "R8": final}
            forbidding = [rule for rule, forbids in reasons.items() if forbids]
            if len(forbidding) <= int(own) and (len(lines) == 1 or (own and not final)):
                made = {"order_id": order["order_id"], "lines": list(lines)}
                rule = next(iter(forbidding), None)
                yield from ((rule, ("create_return", {**made, "method": m})) for m in METHODS)

    def _refunds(self, order: Shown) -> Iterator[Ruled]:
        """R12: the compensation that the policy names; R5: what lines that could go back are worth,
        to a card that the order was not paid with.
        """
        rules, at, total = self.rules, {"order_id": order["order_id"]}, order["total"]
        cents = rules.compensation_cents
        if "R12" in rules.in_force and total > dollars(cents) and order["refunded"] == 0:
            late = is_late(rules, order["promised"], order["delivered"])
            to = {"amount": dollars(cents), "to": STORE_CREDIT}
            yield None if late else "R12", ("issue_refund", {**at, **to})
        if above_limit(rules, round(total * 100)):
            return
        possible = (made["lines"] for rule, (_, made) in self._returns(order) if rule is None)
        quotes = (self.belief.quotes.get((order["order_id"], tuple(lines))) for lines in possible)
        worth = [quoted for quoted in dict.fromkeys(quotes) if quoted is not None]
        for card in self.belief.files[self.customer_id]["payment_methods"]:
            if card["kind"] == "card" and card["payment_id"] != order["payment_id"]:
                to = {"to": card["payment_id"]}
                yield from (("R5", ("issue_refund", {**at, "amount": w, **to})) for w in worth)

    def look_ups(self) -> Iterator[Call]:
        """What a customer may want to know once their orders are known: where a parcel is, what a
        line would bring, what a thing costs.
        """
        belief, me = self.belief, self.customer_id
        own = [
            key
            for key, order in belief.orders.items()
            if order["customer_id"] == me and order["recipient_id"] is None
        ]
        sent = [key for key in own if belief.orders[key]["status"] == "shipped"]
        lines = {
            (key, *made["lines"])
            for key in own
            for rule, (name, made) in self.writes(key)
            if rule is None and name == "create_return" and len(made["lines"]) == 1
        }
        listed = (variant for row in belief.products.values() for variant in row["variants"])
        skus: list[Any] = [variant["sku"] for variant in listed]
        for key in sent[:MOST_OF_A_TOOL]:
            if key not in belief.parcels:
                yield "track_shipment", {"order_id": key}
        for key, number in sorted(lines)[:MOST_OF_A_TOOL]:
            yield "quote_refund", {"order_id": key, "lines": [number]}
        for sku in skus[:MOST_OF_A_TOOL]:
            if sku not in belief.variants:
                yield "get_variant", {"sku": sku}
