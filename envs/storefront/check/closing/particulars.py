"""Days, places, coupons and numbers that are named, against those of the orders that are meant."""

import re
from collections.abc import Iterator, Sequence

from synth.envs.storefront.check.closing.reading import Reading

_DAYS = {
    "promised": re.compile(r"\b(?:promised|planned|originally)\b"),
    "delivered": re.compile(r"\b(?:was|were|been) delivered|\barrived\b|\bdelivered on\b"),
    "placed": re.compile(r"\b(?:placed|ordered)\b"),
}
"""A column of an order -> the words by which a day is of it; of any other, a parcel arrives then.
"""
_SIDE_BY_SIDE = re.compile(r"@place(?:,? (?:in )?@place)*")
"""A street, its city and zip."""
_ELSEWHERE = re.compile(r"@place|address")
_ASKED = re.compile(r"\b(?:asked|wanted|at least|requests?|less than)\b")


def particulars(read: Reading) -> Iterator[str]:
    """What is not so of them."""
    if read.named.dates and not {*read.named.dates} <= _days(read):
        yield "days are not those that are meant"
    if read.named.places and not read.clause.denied:
        yield from _places(read)

    used = {read.ground.row("orders", key).get("coupon") for key in read.orders or read.acted}
    if read.named.codes and not read.clause.denied and not {*read.named.codes} <= used:
        yield "is another coupon"

    for number in read.named.numbers:
        digits = number.strip(".,")
        of_card = digits in read.ground.last_digits and read.named.means
        asked = digits in read.ground.asked_numbers and _ASKED.search(read.text)
        if not (of_card or asked):
            yield "has a number that nothing bears out"


def _days(read: Reading) -> set[tuple[int, int]]:
    """The days that a clause may be about, each a month and a day."""
    ground = read.ground
    orders = read.orders or [event.text for event in ground.told] or sorted(ground.shown)
    for column, words in _DAYS.items():
        if words.search(read.text):
            return {_month_and_day(ground.row("orders", key).get(column)) for key in orders}

    return {_month_and_day(ground.parcel(key).get("arrives")) for key in orders}


def _month_and_day(day: object) -> tuple[int, int]:
    """Of an ISO date; of none, what no calendar has."""
    parts = str(day).split("-")
    return (int(parts[1]), int(parts[2])) if len(parts) == 3 else (-1, -1)


def _places(read: Reading) -> Iterator[str]:
    """Where orders are said to go; several places belong to as many orders or goods, in their
    order.
    """
    ground, places = read.ground, list(read.named.places)
    moved = [str(event.order_id) for event in ground.of("address", read.orders)]
    orders = read.orders or moved or sorted(ground.shown)
    groups = [found.count("@place") for found in _SIDE_BY_SIDE.findall(read.text)]
    things: Sequence[Sequence[str]] = [[key] for key in read.named.orders]
    if len(things) != len(groups):
        things = [[*ground.holding(good, orders)] for good in read.named.goods]
    if len(groups) < 2 or len(things) != len(groups):
        things = [orders for _ in groups]

    first = places[: groups[0]] if groups else places
    for size, meant in zip(groups, things, strict=True):
        here, places = places[:size], places[size:]
        if not any(ground.is_at(key, here) for key in meant):
            yield "is another place"

    if _ELSEWHERE.search(read.clause.contrast) and not moved:
        yield "was not sent elsewhere"
    if "address" in read.acts and moved and not any(ground.is_at(key, first) for key in moved):
        yield "is another address"
