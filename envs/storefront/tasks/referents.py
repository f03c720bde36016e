"""How a customer's words pick out an order and an item: by id, by what is in it, by the order
before, or by who it is for or from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.world import BaseWorld

Item = tuple[str, str]
"""Colour and noun."""
Slot = Literal["order", "item", "address", "payment"]
"""What a customer's words may leave open among several."""
SLOTS: tuple[Slot, ...] = ("order", "order", "item", "address", "payment")
"""As often as each is tried first."""
OTHER_PERSON_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Referent:
    """One order, and an item in it, as they are spoken of; `candidates` is how many orders, items,
    addresses or cards fit the words.
    """

    order_id: str
    line_key: str
    by_id: bool
    candidates: int
    phrase: str
    item: str
    details: Mapping[str, str] = field(default_factory=dict)
    after: Item | None = None
    gift_of: str | None = None
    gift_for: str | None = None
    by_noun: bool = False

    @property
    def stated_order(self) -> str | None:
        """The order's id, where the customer says it."""
        return self.order_id if self.by_id else None

    @property
    def stands_alone(self) -> bool:
        """Whether the words for the order need no item."""
        return self.by_id or any(
            words is not None for words in (self.after, self.gift_of, self.gift_for)
        )


def described(base: BaseWorld, line_key: str) -> Item:
    """Colour and noun of a line's item."""
    variant = base.tables["variants"][base.tables["lines"][line_key]["sku"]]
    return variant["colour"], base.tables["products"][variant["product_id"]]["noun"]


def candidates(base: BaseWorld, customer_id: str, description: Item) -> list[str]:
    """The customer's orders that hold such an item, newest first."""
    return [
        order_id
        for order_id in base.orders_of.get(customer_id, ())
        if any(described(base, line_key) == description for line_key in base.lines_of[order_id])
    ]


def namesakes(base: BaseWorld, line_key: str) -> list[str]:
    """The lines of the same order whose item has the same noun, this one among them."""
    noun = described(base, line_key)[1]
    order_id = base.tables["lines"][line_key]["order_id"]
    return [key for key in base.lines_of[order_id] if described(base, key)[1] == noun]


def _fitting(base: BaseWorld, order_id: str, line_keys: Sequence[str]) -> dict[str, int]:
    owner = base.tables["orders"][order_id]["customer_id"]
    return {
        line_key: len(candidates(base, owner, described(base, line_key))) for line_key in line_keys
    }


def refer(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    order_id: str,
    line_keys: Sequence[str],
    slot: Slot | None,
) -> Referent:
    """Words for an order, and for the item of one of these lines; they fit several orders, or
    several items of it, only where that is
    the `slot`; where no line is such that they do, they fit one.
    """
    low, high = config.ambiguity
    fitting = _fitting(base, order_id, line_keys)
    way, details = rng.random(), {"order": base.tables["orders"][order_id]["placed"]}
    several = [
        key
        for key in line_keys
        if low <= (fitting[key] if slot == "order" else len(namesakes(base, key))) <= high
    ]
    if slot in ("order", "item") and several:
        line_key = rng.choice(several)
        colour, noun = described(base, line_key)
        if slot == "item":
            return Referent(
                order_id,
                line_key,
                True,
                len(namesakes(base, line_key)),
                f"order {order_id}",
                noun,
                {"item": colour},
                by_noun=True,
            )
        item = f"{colour} {noun}"
        return Referent(
            order_id,
            line_key,
            False,
            fitting[line_key],
            f"the order with the {item}",
            item,
            details,
        )
    usable = [key for key in line_keys if fitting[key] == 1]
    anchor, person = _anchor(rng, base, order_id), _for_whom(base, order_id)
    line_key = rng.choice(usable or list(line_keys))
    item = " ".join(described(base, line_key))
    if person is not None and rng.random() < OTHER_PERSON_SHARE:
        return Referent(
            order_id,
            line_key,
            False,
            1,
            f"the order that I placed for {person}",
            item,
            details,
            gift_for=person,
        )
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


def _for_whom(base: BaseWorld, order_id: str) -> str | None:
    """The name of the one whom the order was placed for, where the customer placed no other order
    for somebody of that name.
    """
    orders, customers = base.tables["orders"], base.tables["customers"]
    recipients = [
        orders[key]["recipient_id"] for key in base.orders_of[orders[order_id]["customer_id"]]
    ]
    names = [customers[key]["name"] for key in recipients if key is not None]
    recipient_id = orders[order_id]["recipient_id"]
    name = None if recipient_id is None else str(customers[recipient_id]["name"])
    return name if names.count(name) == 1 else None
