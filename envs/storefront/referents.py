"""How a customer's words pick out an order and an item: by id, or by what is in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from envs.storefront.config import StorefrontConfig
from envs.storefront.world import BaseWorld


@dataclass(frozen=True, slots=True)
class Referent:
    """One order as it is spoken of; `candidates` is how many of the customer's orders fit the words."""

    order_id: str
    line_key: str
    by_id: bool
    candidates: int
    phrase: str
    item: str
    details: Mapping[str, str]

    @property
    def stated_order(self) -> str | None:
        """The order's id, where the customer says it."""
        return self.order_id if self.by_id else None


def described(base: BaseWorld, line_key: str) -> tuple[str, str]:
    """Colour and noun of a line's item."""
    variant = base.tables["variants"][base.tables["lines"][line_key]["sku"]]
    return variant["colour"], base.tables["products"][variant["product_id"]]["noun"]


def candidates(base: BaseWorld, customer_id: str, description: tuple[str, str]) -> list[str]:
    """The customer's orders that hold such an item."""
    return [
        order_id
        for order_id in base.orders_of.get(customer_id, ())
        if any(described(base, line_key) == description for line_key in base.lines_of[order_id])
    ]


def refer(rng: Random, config: StorefrontConfig, base: BaseWorld, order_id: str, line_keys: list[str]) -> Referent:
    """Words for an order, through one of these lines where no id is said."""
    order = base.tables["orders"][order_id]
    fitting = {line_key: len(candidates(base, order["customer_id"], described(base, line_key))) for line_key in line_keys}
    by_id = rng.random() >= config.description_share
    shared = [line_key for line_key in line_keys if fitting[line_key] > 1]
    alone = [line_key for line_key in line_keys if fitting[line_key] == 1]
    wants_shared = rng.random() < config.ambiguous_share
    line_key = rng.choice((shared if wants_shared else alone) or line_keys)
    colour, noun = described(base, line_key)
    item = f"{colour} {noun}"
    return Referent(
        order_id=order_id,
        line_key=line_key,
        by_id=by_id,
        candidates=1 if by_id else fitting[line_key],
        phrase=f"order {order_id}" if by_id else f"the order with the {item}",
        item=item,
        details={} if by_id else {"order": order["placed"]},
    )
