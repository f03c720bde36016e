"""What a customer could ask for about an order: the calls that serve it, whatever rules forbid."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.policy import STORE_CREDIT, Call, Rules, forbidding
from synth.envs.storefront.world.views import (
    Item,
    Known,
    Shown,
    cards_of,
    cents_of,
    dollars,
    item_of,
    numbered,
)

_TOOLS = texts("tools")
REASONS = _TOOLS["write"]["cancel_order"]["properties"]["reason"]["enum"]
METHODS = _TOOLS["write"]["create_return"]["properties"]["method"]["enum"]


@dataclass(frozen=True, slots=True)
class CustomerOptions:
    """What one customer could ask for, as far as somebody knows.

    `codes` are coupons, `elsewhere` addresses that may not be on their file, `ordered` the items of
    all their orders: what they exchange becomes another item, so that words for it stay clear.
    """

    known: Known
    rules: Rules
    customer_id: str
    codes: Collection[str] = ()
    elsewhere: Collection[str] = ()
    ordered: Collection[Item] = ()

    def forbidding(self, call: Call) -> list[str]:
        """The rules that forbid a call; a question about a return asks for one that is allowed."""
        tool, made = call
        judged = "create_return" if tool == "quote_refund" else tool
        found = forbidding(self.known, self.rules, (judged, made), [self.customer_id])

        return [rule for rule, _ in found]

    def of(self, order_id: str) -> Iterator[Call]:
        """The first call for everything that can be asked for about an order."""
        order = self.known.orders[order_id]
        status = order["status"]
        at = {"order_id": order_id}
        mine = order["customer_id"] == self.customer_id
        given = order["recipient_id"]
        concerns_me = mine or given == self.customer_id

        if mine and status not in ("cancelled", "returned"):
            for reason in REASONS[:-1]:
                yield "cancel_order", {**at, "reason": reason}
            for address_id in self._addresses(order):
                yield "change_address", {**at, "address_id": address_id}
            for number, sku in self._exchanges(order):
                yield "modify_lines", {**at, "lines": {str(number): sku}}

            for code in self.codes:
                if code != order["coupon"]:
                    yield "apply_coupon", {**at, "code": code}

        if status == "shipped" and concerns_me:
            yield "track_shipment", at

        if status == "delivered" and concerns_me:
            yield from self._of_delivered(order, mine=mine)

    def _of_delivered(self, order: Shown, *, mine: bool) -> Iterator[Call]:
        """Returns, quotes and refunds of what has come."""
        at = {"order_id": order["order_id"]}

        for numbers in line_sets(order):
            # of a gift its recipient asks for one line at a time
            for method in METHODS if mine or len(numbers) == 1 else ():
                yield "create_return", {**at, "lines": numbers, "method": method}

        if mine and order["recipient_id"] is None:
            for line in order["lines"]:
                yield "quote_refund", {**at, "lines": [line["line"]]}
            for amount, to in self._refunds(order):
                yield "issue_refund", {**at, "amount": amount, "to": to}

    def _addresses(self, order: Shown) -> list[str]:
        """Addresses on the file in other cities than the order goes to, and those elsewhere."""
        rows = self.known.files[self.customer_id]["addresses"]
        city_of = {row["address_id"]: row["city"] for row in rows}
        here = city_of.get(order["address_id"])
        strange = [key for key in self.elsewhere if key not in city_of]

        return [*(key for key, city in city_of.items() if city != here), *strange]

    def _exchanges(self, order: Shown) -> Iterator[tuple[int, str]]:
        """Line numbers, and skus of other colours in the same size that are there."""
        for line in order["lines"]:
            noun = item_of(line)[1]

            for variant in self.known.products.get(noun, {"variants": ()})["variants"]:
                alike = variant["size"] == line["size"] and variant["in_stock"]

                if alike and (variant["colour"], noun) not in self.ordered:
                    yield line["line"], variant["sku"]

    def _refunds(self, order: Shown) -> Iterator[tuple[float, str]]:
        """The compensation that R12 names; money for lines that may go back, to a card that R5
        forbids.
        """
        rules = self.rules
        at = {"order_id": order["order_id"]}
        amount = dollars(rules.compensation_cents)

        if "R12" in rules.in_force and order["total"] > amount and not order["refunded"]:
            yield amount, STORE_CREDIT

        cards = cards_of(self.known.files[self.customer_id]).values()

        for numbers in line_sets(order) if "R5" in rules.in_force else ():
            cents = cents_of(order, numbered(order, numbers))
            back = self.forbidding(("create_return", {**at, "lines": numbers}))

            if not back and not rules.above_limit(cents):
                yield from ((dollars(cents), to) for to in cards if to != order["payment_id"])


def refunds_of(
    rules: Rules,
    order: Shown,
    numbers: Collection[int],
) -> list[Call]:
    """The ways in which the money for returned lines can be given back, credit last; above the
    limit (R6) a supervisor decides.
    """
    order_id = order["order_id"]
    cents = cents_of(order, numbered(order, numbers))
    made: dict[str, object] = {"order_id": order_id}

    if rules.above_limit(cents):
        summary = f"The refund for order {order_id} is above the limit."

        return [("escalate", {"reason_code": "refund_limit", "summary": summary, **made})]

    ways = [STORE_CREDIT] if order["recipient_id"] else [order["payment_id"], STORE_CREDIT]

    return [("issue_refund", {**made, "amount": dollars(cents), "to": to}) for to in ways]


def line_sets(order: Shown) -> list[list[int]]:
    """The lines that could go back together: each alone, and all."""
    numbers = [line["line"] for line in order["lines"]]

    return [[number] for number in numbers] + [numbers] * (len(numbers) > 1)
