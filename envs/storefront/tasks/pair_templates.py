"""Where a rule and one fact decide over a request: the minimal pairs that a customer's orders
allow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from synth.envs.storefront.tasks.pairs import Pair, off_file
from synth.envs.storefront.tasks.requests import destinations
from synth.envs.storefront.tasks.returns import cards, returnable
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.rules import above_limit, within_window
from synth.envs.storefront.world.world import BaseWorld

PAIRS: Mapping[str, Any] = texts("pairs")
DELIVERED_AROUND = 4
"""Days by which a pair's deliveries lie apart from the window's end, at most."""


@dataclass(frozen=True, slots=True)
class Templates:
    """Where a rule and one fact decide over a request: the pairs that a customer's orders allow."""

    base: BaseWorld
    customer_id: str
    rng: Random

    def pairs(self, name: str) -> list[Pair]:
        """The pairs of a template whose rule is in force."""
        found = getattr(self, name)() if name not in PAIRS["columns"] else self._columns(name)
        return [pair for pair in found if pair.rule in self.base.rules.in_force]

    def _mine(self, *statuses: str) -> list[str]:
        orders = self.base.orders
        mine = self.base.orders_of.get(self.customer_id, ())
        return [
            key
            for key in mine
            if orders[key]["recipient_id"] is None and orders[key]["status"] in statuses
        ]

    def _feasible(self, *pairs: Pair) -> Iterator[Pair]:
        return (pair for pair in pairs if pair.is_feasible(self.base, self.customer_id))

    def _all_returnable(self, order_id: str) -> bool:
        found = returnable(self.base, order_id, self.customer_id)
        return len(found) == len(self.base.lines_of[order_id])

    def _columns(self, name: str) -> Iterator[Pair]:
        rows = PAIRS["columns"][name]
        for key in self._mine(rows[0]["in"]):
            for row in rows:
                path = f"orders/{key}/{row['column']}"
                yield from self._feasible(
                    Pair(row["rule"], key, row["asks"], path, row["forbidding"], row["allowing"])
                )

    def late(self) -> Iterator[Pair]:
        """R4."""
        window = self.base.rules.window_days[self.base.customers[self.customer_id]["tier"]]
        today, most = date.fromisoformat(self.base.today), DELIVERED_AROUND
        ago = window + self.rng.randrange(1, most), window - self.rng.randrange(0, most)
        late, still = ((today - timedelta(days=days)).isoformat() for days in ago)
        for key in self._mine("delivered"):
            if self.base.orders[key]["placed"] < late:
                path = f"orders/{key}/delivered"
                yield from self._feasible(Pair("R4", key, "return", path, late, still))

    def sold_finally(self) -> Iterator[Pair]:
        """R8, for the only line of an order."""
        return (pair for pair in self._final_sales() if not pair.partly)

    def partly_sold_finally(self) -> Iterator[Pair]:
        """R8, for one line of several: the customer wants to return all, and the others can go
        back.
        """
        return (pair for pair in self._final_sales() if pair.partly)

    def _final_sales(self) -> Iterator[Pair]:
        base, sale = self.base, self.base.rules.final_sale[0]
        for key in filter(self._all_returnable, self._mine("delivered")):
            first, *others = base.lines_of[key]
            product_id = base.variant(first)["product_id"]
            path, allowing = f"products/{product_id}/category", base.product(first)["category"]
            if all(base.variant(line)["product_id"] != product_id for line in others):
                asks = "return_all" if others else "return"
                yield Pair("R8", key, asks, path, sale, allowing, tuple(others))

    def promised(self) -> Iterator[Pair]:
        """R12."""
        for key in self._mine("delivered"):
            order, late_days = self.base.orders[key], self.base.rules.late_days
            delivered = date.fromisoformat(order["delivered"])
            punctual = delivered - timedelta(days=late_days)
            late = (punctual - timedelta(days=1)).isoformat()
            if late > order["placed"]:
                path, asks = f"orders/{key}/promised", "compensation"
                yield from self._feasible(Pair("R12", key, asks, path, punctual.isoformat(), late))

    def gifts(self) -> Iterator[Pair]:
        """R10: an order of somebody else is sent back, or its parcel asked for."""
        customers, me = self.base.customers, self.customer_id
        for key, order in sorted(self.base.orders.items()):
            somebody_else = customers[order["customer_id"]]["name"] != customers[me]["name"]
            if not somebody_else or order["recipient_id"] not in (None, me):
                continue
            path = f"orders/{key}/recipient_id"
            if order["status"] == "shipped":
                yield Pair("R10", key, "track_by_id", path, None, me)
            elif self._all_returnable(key) and "R15" in self.base.rules.in_force:
                yield Pair("R10", key, "gift_return", path, None, me)

    def off_file(self) -> Iterator[Pair]:
        """R11: the address that the customer names is not on their file."""
        addresses = self.base.addresses
        present = {addresses[key]["city"] for key in self.base.addresses_of[self.customer_id]}
        absent = sorted({row["city"] for row in addresses.values()} - present)
        for key in self._mine("pending", "processing"):
            cities = destinations(self.base, key).items()
            alone = [city for city, keys in cities if len(keys) == 1]
            if len(alone) == 1 and absent:
                elsewhere = self.rng.choice(absent)
                pair = off_file(self.base, key, alone[0], elsewhere, alone[0])
                yield from filter(None, [pair])

    def paid_otherwise(self) -> Iterator[Pair]:
        """R5: the money is to go to a card that the order was paid with, or was not."""
        base, me = self.base, self.customer_id
        for key in self._mine("delivered"):
            allowing = self.rng.choice(cards(base, me))
            others = [payment for payment in base.payments_of[me] if payment != allowing]
            small = not above_limit(base.rules, base.orders[key]["total_cents"])
            if others and small and returnable(base, key, me):
                path, other = f"orders/{key}/payment_id", self.rng.choice(others)
                yield Pair("R5", key, "return_to_card", path, other, allowing)

    def placed_for_others(self) -> Iterator[Pair]:
        """R15: the one who gave a gift wants to send it back."""
        base, customers = self.base, self.base.customers
        for key in self._mine("delivered"):
            delivered = base.orders[key]["delivered"]
            others = [
                other
                for other, row in sorted(customers.items())
                if row["name"] != customers[self.customer_id]["name"]
                and within_window(base.rules, row["tier"], delivered, base.today)
            ]
            if others and self._all_returnable(key):
                path, other = f"orders/{key}/recipient_id", self.rng.choice(others)
                yield Pair("R15", key, "return", path, other, None)

    def unverified(self) -> Iterator[Pair]:
        """R1: of the two factors that the customer knows one is not the one on file."""
        me, row = self.customer_id, self.base.customers[self.customer_id]
        if len(self.base.customers_by["name"][row["name"]]) > 1:
            return
        other = str(10_000 + (int(row["zip"]) + self.rng.randrange(1, 80_000)) % 89_999)
        path, known = f"customers/{me}/zip", ("email", "zip")
        for asks, statuses in (("cancel", ("pending", "processing")), ("return", ("delivered",))):
            for key in self._mine(*statuses):
                yield from self._feasible(
                    Pair("R1", key, asks, path, other, row["zip"], evidence=me, known=known)
                )


def draw_pair(rng: Random, base: BaseWorld, customer_id: str) -> Pair | None:
    """One of the customer's possible pairs whose rule is in force."""
    templates = Templates(base, customer_id, rng)
    for name in rng.sample(PAIRS["templates"], len(PAIRS["templates"])):
        found = templates.pairs(name)
        if found:
            return rng.choice(found)
    return None
