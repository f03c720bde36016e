"""How a customer's words pick out an order and an item: by id, by what is in it, by the order
before, or by who it is for or from.
"""

from collections.abc import Sequence
from dataclasses import replace

from synth.envs.storefront.tasks.intents import WORDS, Draw, Referent
from synth.envs.storefront.world.views import Item, Shown, item_of
from synth.envs.storefront.world.world import BaseWorld

OTHER_PERSON_SHARE = 0.6
_PHRASES = WORDS["phrases"]


def orders_with(
    draw: Draw,
    item: Item,
) -> list[str]:
    """The customer's orders that hold such an item, newest first."""
    return [order["order_id"] for order in draw.orders if item in map(item_of, order["lines"])]


def namesakes(order: Shown, line: Shown) -> list[Shown]:
    """The lines of an order whose item has the same noun, this one among them."""
    return [other for other in order["lines"] if item_of(other)[1] == item_of(line)[1]]


def by_id(
    base: BaseWorld,
    order_id: str,
    line: Shown | None = None,
) -> Referent:
    """An order named by its id, whatever is in it, or a line of it."""
    item = "" if line is None else " ".join(item_of(line))
    phrase = _PHRASES["by_id"].format(order_id=order_id)

    return Referent(
        order_id,
        line or base.orders[order_id]["lines"][0],
        True,
        phrase,
        item,
    )


def refer(draw: Draw, order_id: str, lines: Sequence[Shown] = ()) -> Referent:
    """Words for an order, and for the item of one of these lines.

    They fit several orders, or several items of it, only where that is the slot of the draw; where
    no line is such that they do, they fit one.
    """
    if draw.referent is not None:
        return draw.referent

    rng = draw.rng
    config = draw.config
    order = draw.base.orders[order_id]
    lines = lines or order["lines"]
    # drawn whether it is needed or not, so that a share of 0 does not shift all later draws
    way = rng.random()

    if (named := _among_several(draw, order, lines)) is not None:
        return named

    # words that are to fit several must not say by relation which is meant
    alone = [line for line in lines if len(orders_with(draw, item_of(line))) == 1]
    anchor = _anchor(draw, order_id)
    person = _for_whom(draw, order_id)
    # an item that is nowhere else describes its order
    line = rng.choice(alone or list(lines))
    named = _described(order, line)

    if person is not None and rng.random() < OTHER_PERSON_SHARE:
        return replace(named, phrase=_PHRASES["gift_for"].format(person=person), gift_for=person)

    if way < config.relation_share and anchor is not None:
        words = _PHRASES["after"].format(item=" ".join(anchor))

        return replace(named, phrase=words, after=anchor)

    if way < config.relation_share + config.description_share and alone:
        return named

    return by_id(draw.base, order_id, line)


def _among_several(draw: Draw, order: Shown, lines: Sequence[Shown]) -> Referent | None:
    """Words that leave the order, or the item of it, open among as many as the setting asks for;
    None where that is not the slot of the draw, or no line is such.
    """
    if draw.slot not in ("order", "item"):
        return None

    def fitting(line: Shown) -> int:
        """How many orders hold such an item, or how many items of this one have its noun."""
        by_noun = draw.slot == "item"

        return len(namesakes(order, line) if by_noun else orders_with(draw, item_of(line)))

    low, high = draw.config.ambiguity
    several = [line for line in lines if low <= fitting(line) <= high]

    if not several:
        return None

    line = draw.rng.choice(several)
    by_item = draw.slot == "order"
    named = _described(order, line) if by_item else _by_noun(draw.base, order["order_id"], line)

    return replace(named, candidates=fitting(line))


def _described(
    order: Shown,
    line: Shown,
) -> Referent:
    """An order described by the item of a line; asked which one is meant, the customer says the
    day.
    """
    item = " ".join(item_of(line))
    phrase = _PHRASES["with_item"].format(item=item)

    return Referent(
        order["order_id"], line, False, phrase, item, details={"order": order["placed"]}
    )


def _by_noun(
    base: BaseWorld,
    order_id: str,
    line: Shown,
) -> Referent:
    """An order named by its id, and an item of it by its noun alone."""
    colour, noun = item_of(line)
    named = by_id(base, order_id, line)

    return replace(
        named,
        item=noun,
        details={"item": colour},
        by_noun=True,
    )


def _anchor(
    draw: Draw,
    order_id: str,
) -> Item | None:
    """An item that only the customer's previous order holds."""
    ids = [order["order_id"] for order in draw.orders]
    # the order placed just before
    before = draw.orders[ids.index(order_id) + 1 :][:1]
    items = [item_of(line) for order in before for line in order["lines"]]
    alone = [item for item in items if len(orders_with(draw, item)) == 1]

    return draw.rng.choice(alone) if alone else None


def _for_whom(
    draw: Draw,
    order_id: str,
) -> str | None:
    """The name of the one whom the order was placed for, where the customer placed no other order
    for somebody of that name.
    """
    # names, not accounts: the customer says a name
    names = {
        order["order_id"]: draw.base.row("customers", order["recipient_id"])["name"]
        for order in draw.orders
        if order["recipient_id"] is not None
    }

    name = names.get(order_id)

    return name if list(names.values()).count(name) == 1 else None
