"""How orders, parcels and the stock are said to stand, against how they do; and what was so of
orders before the conversation: acts that somebody had done, statuses that no longer hold, places
that they were to go to.
"""

import re
from collections.abc import Iterator
from typing import Any

from synth.envs.storefront.check.closing.backing.said import SAID
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.ground import HELD_BY, EpisodeGround
from synth.envs.storefront.check.mentions import Good, fit

OPEN = ("pending", "processing", "shipped")
_BY_AN_ACT = ("delivered", "cancelled")
"""Statuses whose words may be an act's: that one is compared."""
_NONE_LEFT = re.compile(r"only 0 of (V-\d+)")
"""How a call is told that a variant is sold out."""
_JUST_NOW = re.compile(r"\b(?:just|today(?!'s)|a moment ago|now)\b")
_BEFORE = re.compile(r"\b(?:before|already|earlier|previously|then)\b")
_BEFORE_IT = {
    "status": re.compile(r"\b(?:was|were|had been|still)\b"),
    "address_id": re.compile(
        r"\b(?:was|were|had been|originally|before|used to|previous\w*|old)\b"
    ),
}
"""A column of an order -> the words by which its former value is spoken of."""


def standing(read: Reading) -> Iterator[str]:
    """What is not so of the statuses, of what is to come and of the stock."""
    for name in read.clause.statuses:
        if name in _BY_AN_ACT and read.events:
            continue
        if not _is_so(read, name):
            yield f"is not so: {name}"

    comes = read.clause.has("coming") and not (read.clause.denied or read.named.dates)
    if comes and "return" not in read.acts:
        yield from _coming(read)

    late = read.clause.has("late") and not read.clause.denied
    holds = [read.ground.is_late(key) for key in read.orders]
    if late and holds and not (all(holds) if read.named.orders else any(holds)):
        yield "was not late"
    if read.clause.has("on_time") and any(read.ground.is_late(key) for key in read.meant):
        yield "was late"

    # "not in stock" has "in stock" in it
    missing = read.clause.has("not_in_stock")
    if (missing or read.clause.has("in_stock")) and not _in_stock(read, wanted=not missing):
        yield "the stock is not so"


def _is_so(read: Reading, name: str) -> bool:
    """Whether an order has a status: each that is named, else any that may be meant."""
    row = SAID["statuses"][name]
    goods = [] if read.named.orders else read.named.kinds_of_goods
    held = [key for good in goods for key in read.ground.holding(good, read.ground.shown)]
    holds = [stands(read, key, row) for key in held or read.meant]
    denied = read.clause.denied or (read.clause.unfinished and name == "delivered")
    if read.clause.has("not_sent") if name == "shipped" else denied:
        return not (any(holds) if read.orders else all(holds))

    return all(holds) if len(read.named.orders) > 1 else any(holds)


def stands(read: Reading, order_id: str, row: dict[str, Any]) -> bool:
    """Whether an order, or its parcel, is what is said of it."""
    parcel = read.ground.parcel(order_id)
    if "parcel" in row and (parcel or "order" not in row):
        return parcel.get("status") in row["parcel"]
    if former(read, order_id, "status") in row["order"]:
        return True

    return read.ground.row("orders", order_id).get("status") in row["order"]


def _coming(read: Reading) -> Iterator[str]:
    """What is said to come must be on its way or not sent yet, with the goods that are named."""
    ground = read.ground
    coming = [key for key in read.likely if ground.row("orders", key).get("status") in OPEN]
    lines = [line for key in coming for line in ground.lines(key, end=True)]

    if not coming:
        yield "is not to come"
    elif not all(fit([good], lines) for good in read.named.goods):
        yield "is not what is to come"


def _in_stock(read: Reading, *, wanted: bool) -> bool:
    """Whether a variant that is named is, or is not, to be had: an exchange took it, or none is
    left.
    """
    ground = read.ground
    goods = [good for good in read.named.goods if good.colour]
    every = ground.view.base.tables["variants"]
    nouns = {line[0] for line in ground.known_lines}
    skus = [
        sku
        for sku in every
        if goods
        and ground.variant(sku)[0] in nouns
        and all(good.fits(ground.variant(sku)) for good in goods)
    ]
    if not goods:
        # "the one that you wanted is not in stock"
        skus = _wanted(ground)
    if wanted:
        given = (event.arguments.get("lines", {}).values() for event in ground.of("exchange"))
        return not {*skus}.isdisjoint(sku for lines in given for sku in lines)

    refused = _NONE_LEFT.findall(" ".join(ground.failed))
    return any(sku in refused or ground.row("variants", sku).get("stock") == 0 for sku in skus)


def _wanted(ground: EpisodeGround) -> list[str]:
    """The variants of shown goods, in their sizes, that the customer named in one request."""
    sizes = {(line[0], line[2]) for line in ground.known_lines}
    return [
        sku
        for sku in ground.view.base.tables["variants"]
        for noun, colour, size in [ground.variant(sku)]
        if (noun, size) in sizes and ground.asked.named(Good(noun, colour))
    ]


def was_done(read: Reading, act: str) -> bool:
    """Whether an act had been done to each order that is meant, before and by somebody else."""
    if read.is_own or _JUST_NOW.search(read.text):
        return False
    if not read.orders:
        before = _BEFORE.search(read.text)
        return bool(before) and any(had(read, act, key) for key in read.ground.shown)

    return all(had(read, act, key) for key in read.orders)


def had(read: Reading, act: str, order_id: str) -> bool:
    """Whether an act had been done to an order."""
    tables = read.ground.view.base.tables
    row = tables["orders"].get(order_id, {})
    match act:
        case "refund":
            return any(one["order_id"] == order_id for one in tables["refunds"].values())
        case "return" | "cancel":
            return row.get("status") in HELD_BY[act]
        case "exchange":
            return row.get("modified") is True

    return act == "coupon" and row.get("coupon") is not None


def refunded(read: Reading) -> list[int]:
    """What had been paid back for the orders that are meant, in cents."""
    rows = read.ground.view.base.tables["refunds"].values()
    return [one["amount_cents"] for one in rows if one["order_id"] in read.meant]


def former(read: Reading, order_id: str, column: str) -> object:
    """How an order stood before, or where it was to go, where that is spoken of."""
    start = read.ground.view.base.tables["orders"].get(order_id, {})
    return start.get(column) if _BEFORE_IT[column].search(read.text) else None
