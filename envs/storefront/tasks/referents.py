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
    def stands_alone(self) -> bool:
        """Whether the words for the order need no item."""
        return self.by_id or (self.after, self.gift_of, self.gift_for) != (None, None, None)


def described(base: BaseWorld, line_key: str) -> Item:
    """Colour and noun of a line's item."""
    return base.variant(line_key)["colour"], base.product(line_key)["noun"]


def candidates(base: BaseWorld, customer_id: str, description: Item) -> list[str]:
    """The customer's orders that hold such an item, newest first."""
    return [
        order_id
        for order_id in base.orders_of.get(customer_id, ())
        if any(described(base, line_key) == description for line_key in base.lines_of[order_id])
    ]


def namesakes(base: BaseWorld, line_key: str) -> list[str]:
    """The lines of the same order whose item has the same noun, this one among them."""
    noun = base.product(line_key)["noun"]
    lines = base.lines_of[base.tables["lines"][line_key]["order_id"]]
    return [key for key in lines if base.product(key)["noun"] == noun]


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
    order = base.orders[order_id]
    fitting = {
        key: len(candidates(base, order["customer_id"], described(base, key))) for key in line_keys
    }
    of_noun = {key: len(namesakes(base, key)) for key in line_keys}
    way, placed = rng.random(), {"order": order["placed"]}
    counts = {"order": fitting, "item": of_noun}.get(slot or "", {})
    several = [key for key in counts if low <= counts[key] <= high]
    usable = several or [key for key in line_keys if fitting[key] == 1]
    anchor = person = None
    if not several:
        anchor, person = _anchor(rng, base, order_id), _for_whom(base, order_id)
    line_key = rng.choice(usable or list(line_keys))
    colour, noun = described(base, line_key)
    item, by_id = f"{colour} {noun}", f"order {order_id}"
    if several and slot == "item":
        open_, known = of_noun[line_key], {"item": colour}
        return Referent(order_id, line_key, True, open_, by_id, noun, known, by_noun=True)
    if person is not None and rng.random() < OTHER_PERSON_SHARE:
        phrase = f"the order that I placed for {person}"
        return Referent(order_id, line_key, False, 1, phrase, item, placed, gift_for=person)
    if way < config.relation_share and anchor is not None:
        phrase = f"the order that I placed next after the one with the {' '.join(anchor)}"
        return Referent(order_id, line_key, False, 1, phrase, item, placed, anchor)
    if several or (way < config.relation_share + config.description_share and usable):
        phrase = f"the order with the {item}"
        return Referent(order_id, line_key, False, fitting[line_key], phrase, item, placed)
    return Referent(order_id, line_key, True, 1, by_id, item)


def by_id(base: BaseWorld, order_id: str) -> Referent:
    """An order named by its id, whatever is in it."""
    return Referent(order_id, base.lines_of[order_id][0], True, 1, f"order {order_id}", "")


def _anchor(rng: Random, base: BaseWorld, order_id: str) -> Item | None:
    """An item that only the customer's previous order holds."""
    owner = base.orders[order_id]["customer_id"]
    newest_first = base.orders_of[owner]
    before = newest_first[newest_first.index(order_id) + 1 :][:1]
    items = [described(base, key) for previous in before for key in base.lines_of[previous]]
    alone = [item for item in items if len(candidates(base, owner, item)) == 1]
    return rng.choice(alone) if alone else None


def _for_whom(base: BaseWorld, order_id: str) -> str | None:
    """The name of the one whom the order was placed for, where the customer placed no other order
    for somebody of that name.
    """
    names = {
        key: base.customers[recipient]["name"]
        for key in base.orders_of[base.orders[order_id]["customer_id"]]
        if (recipient := base.orders[key]["recipient_id"]) is not None
    }
    name = names.get(order_id)
    return name if list(names.values()).count(name) == 1 else None
