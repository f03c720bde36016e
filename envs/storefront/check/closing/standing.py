"""How orders, parcels and the stock are said to stand, against how they do."""

import re
from collections.abc import Iterator
from typing import Any

from synth.envs.storefront.check.closing.backing.said import SAID
from synth.envs.storefront.check.closing.earlier import stood
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import Good, fit

OPEN = ("pending", "processing", "shipped")
_BY_AN_ACT = ("delivered", "cancelled")
"""Statuses whose words may be an act's: that one is compared."""
_NONE_LEFT = re.compile(r"only 0 of (V-\d+)")
"""How a call is told that a variant is sold out."""


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
    if stood(read, order_id) in row["order"]:
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
