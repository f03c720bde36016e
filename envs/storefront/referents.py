"""How a customer's words pick out an order and an item: by id, by what is in it, or by the order that came before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from envs.storefront.config import StorefrontConfig
from envs.storefront.world import BaseWorld

Item = tuple[str, str]
"""Colour and noun."""


@dataclass(frozen=True, slots=True)
class Referent:
    """One order as it is spoken of; `candidates` is how many of the customer's orders fit the words."""

    order_id: str
    line_key: str
    by_id: bool
    candidates: int
    phrase: str
    item: str
    details: Mapping[str, str] = field(default_factory=dict)
    after: Item | None = None

    @property
    def stated_order(self) -> str | None:
        """The order's id, where the customer says it."""
        return self.order_id if self.by_id else None


def described(base: BaseWorld, line_key: str) -> Item:
    """Colour and noun of a line's item."""
    variant = base.tables["variants"][base.tables["lines"][line_key]["sku"]]
    return variant["colour"], base.tables["products"][variant["product_id"]]["noun"]


def candidates(base: BaseWorld, customer_id: str, description: Item) -> list[str]:
    """The customer's orders that hold such an item."""
    return [
        order_id
        for order_id in base.orders_of.get(customer_id, ())
        if any(described(base, line_key) == description for line_key in base.lines_of[order_id])
    ]


def _fitting(base: BaseWorld, order_id: str, line_keys: Sequence[str]) -> dict[str, int]:
    owner = base.tables["orders"][order_id]["customer_id"]
    return {line_key: len(candidates(base, owner, described(base, line_key))) for line_key in line_keys}


def is_ambiguous(base: BaseWorld, config: StorefrontConfig, order_id: str, line_keys: Sequence[str]) -> bool:
    """Whether one of the lines is described by words that fit as many orders as the setting asks for."""
    low, high = config.ambiguity
    return any(low <= count <= high for count in _fitting(base, order_id, line_keys).values())


def refer(rng: Random, config: StorefrontConfig, base: BaseWorld, order_id: str, line_keys: Sequence[str], *, ambiguous: bool) -> Referent:
    """Words for an order, through one of these lines where no id is said; words that fit several orders only where it is asked for."""
    fitting = _fitting(base, order_id, line_keys)
    low, high = config.ambiguity
    usable = [key for key in line_keys if (low <= fitting[key] <= high if ambiguous else fitting[key] == 1)]
    way = rng.random()
    anchor = _anchor(rng, base, order_id)
    line_key = rng.choice(usable or list(line_keys))
    colour, noun = described(base, line_key)
    item = f"{colour} {noun}"
    details = {"order": base.tables["orders"][order_id]["placed"]}
    if ambiguous and usable:
        return Referent(order_id, line_key, False, fitting[line_key], f"the order with the {item}", item, details)
    if way < config.relation_share and anchor is not None:
        phrase = f"the order that I placed next after the one with the {anchor[0]} {anchor[1]}"
        return Referent(order_id, line_key, False, 1, phrase, item, details, anchor)
    if way < config.relation_share + config.description_share and usable:
        return Referent(order_id, line_key, False, 1, f"the order with the {item}", item, details)
    return Referent(order_id, line_key, True, 1, f"order {order_id}", item)


def _anchor(rng: Random, base: BaseWorld, order_id: str) -> Item | None:
    """An item that only the customer's previous order holds."""
    owner = base.tables["orders"][order_id]["customer_id"]
    newest_first = base.orders_of[owner]
    place = newest_first.index(order_id) + 1
    if place >= len(newest_first):
        return None
    items = [described(base, key) for key in base.lines_of[newest_first[place]]]
    alone = [item for item in items if len(candidates(base, owner, item)) == 1]
    return rng.choice(alone) if alone else None
