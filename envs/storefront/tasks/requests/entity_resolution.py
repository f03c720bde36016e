"""How a customer's words pick out an order and an item: by id, by what is in it, by the order
before, or by who it is for or from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.views import Item, Shown, item_of
from synth.envs.storefront.world.world import BaseWorld

WORDS: Mapping[str, Any] = texts("wordings")
Slot = Literal["order", "item", "address", "payment"]
"""What a customer's words may leave open among several."""
SLOTS: tuple[Slot, ...] = (
    "order",
    "order",
    "item",
    "address",
    "payment",
)
"""As often as each is tried first."""
OTHER_PERSON_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Referent:
    """One order, and a line of it, as they are spoken of; `candidates` is how many orders, items,
    addresses or cards fit the words.
    """

    order_id: str
    line: Shown
    by_id: bool
    phrase: str
    item: str
    candidates: int = 1
    details: Mapping[str, str] = field(default_factory=dict)
    after: Item | None = None
    gift_of: str | None = None
    gift_for: str | None = None
    by_noun: bool = False

    @property
    def stands_alone(self) -> bool:
        """Whether the words for the order need no item."""
        return self.by_id or any((self.after, self.gift_of, self.gift_for))

    def stated(self, *, about_item: bool) -> dict[str, Any]:
        """What a request states of its order; of the item, where it is about one, or where that
        stands for the order.
        """
        colour, noun = item_of(self.line)
        speaks_of_item = about_item or not self.stands_alone

        return {
            "order_id": self.order_id if self.by_id else None,
            "colour": colour if speaks_of_item and not self.by_noun else None,
            "noun": noun if speaks_of_item else None,
            "after": self.after,
            "gift_of": self.gift_of,
            "gift_for": self.gift_for,
        }


def orders_with(base: BaseWorld, customer_id: str, item: Item) -> list[str]:
    """The customer's orders that hold such an item, newest first."""
    mine = base.orders_of.get(customer_id, ())

    return [key for key in mine if item in map(item_of, base.orders[key]["lines"])]


def namesakes(order: Shown, line: Shown) -> list[Shown]:
    """The lines of an order whose item has the same noun, this one among them."""
    return [other for other in order["lines"] if item_of(other)[1] == item_of(line)[1]]


def by_id(base: BaseWorld, order_id: str, line: Shown | None = None) -> Referent:
    """An order named by its id, whatever is in it, or a line of it."""
    phrase = WORDS["phrases"]["by_id"].format(order_id=order_id)
    item = "" if line is None else " ".join(item_of(line))
    first = base.orders[order_id]["lines"][0]

    return Referent(order_id, line or first, True, phrase, item)


def described(base: BaseWorld, order_id: str, line: Shown) -> Referent:
    """An order described by the item of a line; asked which one is meant, the customer says the
    day.
    """
    item = " ".join(item_of(line))
    phrase = WORDS["phrases"]["with_item"].format(item=item)
    day = {"order": base.orders[order_id]["placed"]}

    return Referent(order_id, line, False, phrase, item, details=day)


def refer(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    order_id: str,
    lines: Sequence[Shown],
    slot: Slot | None,
) -> Referent:
    """Words for an order, and for the item of one of these lines.

    They fit several orders, or several items of it, only where that is the `slot`; where no line is
    such that they do, they fit one.
    """
    low, high = config.ambiguity
    fits = {line["line"]: _fitting(base, order_id, line, slot) for line in lines}
    # drawn whether it is needed or not, so that a share of 0 does not shift all later draws
    way = rng.random()

    if slot in ("order", "item"):
        several = [line for line in lines if low <= fits[line["line"]] <= high]

        if several:
            line = rng.choice(several)
            named = described(base, order_id, line)

            if slot == "item":
                named = _by_noun(base, order_id, line)

            return replace(named, candidates=fits[line["line"]])

    # words that are to fit several must not say by relation which is meant
    alone = [line for line in lines if _fitting(base, order_id, line, None) == 1]
    anchor = _anchor(rng, base, order_id)
    person = _for_whom(base, order_id)
    # an item that is nowhere else describes its order
    line = rng.choice(alone or list(lines))
    named = described(base, order_id, line)
    phrases = WORDS["phrases"]

    if person is not None and rng.random() < OTHER_PERSON_SHARE:
        words = phrases["gift_for"].format(person=person)

        return replace(named, phrase=words, gift_for=person)

    if way < config.relation_share and anchor is not None:
        words = phrases["after"].format(item=" ".join(anchor))

        return replace(named, phrase=words, after=anchor)

    if way < config.relation_share + config.description_share and alone:
        return named

    return by_id(base, order_id, line)


def _fitting(base: BaseWorld, order_id: str, line: Shown, slot: Slot | None) -> int:
    """How many lines of the order, or orders of its customer, the words for a line fit."""
    order = base.orders[order_id]

    if slot == "item":
        return len(namesakes(order, line))

    return len(orders_with(base, order["customer_id"], item_of(line)))


def _by_noun(base: BaseWorld, order_id: str, line: Shown) -> Referent:
    """An order named by its id, and an item of it by its noun alone."""
    colour, noun = item_of(line)
    named = by_id(base, order_id, line)

    return replace(named, item=noun, details={"item": colour}, by_noun=True)


def _anchor(rng: Random, base: BaseWorld, order_id: str) -> Item | None:
    """An item that only the customer's previous order holds."""
    owner = base.orders[order_id]["customer_id"]
    newest_first = base.orders_of[owner]
    # the order placed just before
    before = newest_first[newest_first.index(order_id) + 1 :][:1]
    items = [item_of(line) for key in before for line in base.orders[key]["lines"]]
    alone = [item for item in items if len(orders_with(base, owner, item)) == 1]

    return rng.choice(alone) if alone else None


def _for_whom(base: BaseWorld, order_id: str) -> str | None:
    """The name of the one whom the order was placed for, where the customer placed no other order
    for somebody of that name.
    """
    # names, not accounts: the customer says a name
    mine = [base.orders[key] for key in base.orders_of[base.orders[order_id]["customer_id"]]]

    names = {
        order["order_id"]: base.row("customers", order["recipient_id"])["name"]
        for order in mine
        if order["recipient_id"] is not None
    }

    name = names.get(order_id)

    return name if list(names.values()).count(name) == 1 else None
