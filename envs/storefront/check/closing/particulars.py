"""Days, places, coupons, people, carriers and numbers that are named, against those of the orders
that are meant.
"""

import re
from collections.abc import Iterator, Sequence

from synth.envs.storefront.check.closing.backing.people import is_a_stranger_named, is_spoken_to
from synth.envs.storefront.check.closing.backing.reasons import grounds, is_on_file
from synth.envs.storefront.check.closing.backing.said import pattern, patterns
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.closing.standing import former
from synth.envs.storefront.check.mentions import is_day
from synth.envs.storefront.tools.transcript import leaves

_DAYS = {
    "promised": re.compile(r"\b(?:promised|planned|originally)\b"),
    "delivered": re.compile(r"\b(?:was|were|been) delivered|\barrived\b|\bdelivered on\b"),
    "placed": re.compile(
        r"\b(?:placed|ordered|bought|purchased)\b(?!.*\b(?:arriv|due|expect|com(?:es|ing)))"
        r"|\b(?:orders?|ones?) (?:from|of|dated) (?:the )?$"
    ),
}
"""A column of an order -> the words before a day that is of it; any other is a parcel's arrival.
"""
_SIDE_BY_SIDE = re.compile(r"@place(?:,? (?:in )?@place)*")
"""A street, its city and zip."""
_ELSEWHERE = re.compile(r"@place|address")
_ASKED = re.compile(r"\b(?:asked|wanted|at least|requests?|less than)\b")


def particulars(read: Reading) -> Iterator[str]:
    """What is not so of them."""
    yield from _days(read)
    if read.named.places and not read.clause.denied:
        yield from _places(read)
    yield from _ways_back(read)
    yield from _on_file(read)
    yield from _coupons(read)
    if is_a_stranger_named(read.text, read.ground):
        yield "names somebody else"
    if is_spoken_to(read.text, read.ground):
        yield "is known to nobody here"
    yield from _carriers(read)
    yield from _ids(read)
    yield from _numbers(read)


def _on_file(read: Reading) -> Iterator[str]:
    """Places that are, or are not, on the customer's file."""
    ground, clause = read.ground, read.clause
    on_file = clause.has("on_file") and not (clause.denied or clause.has("not_on_file"))
    if on_file and read.named.places and not is_on_file(ground, read.named.places):
        yield "is not on file"
    if clause.has("not_on_file") and "R11 file" not in grounds(ground):
        yield "may be on file"


def _coupons(read: Reading) -> Iterator[str]:
    """The coupons of the orders that are meant, none of which stands behind "instead of"."""
    used = {read.ground.row("orders", key).get("coupon") for key in read.likely}
    codes = read.named.codes[: read.text.count("@code")]
    instead = {*read.named.codes} - {*codes}
    if read.clause.because and not read.did:
        used |= read.ground.asked.codes
    if codes and not read.clause.denied and (not {*codes} <= used or instead & used):
        yield "is another coupon"


def _ids(read: Reading) -> Iterator[str]:
    """Tickets, returns, refunds and escalations by their ids: an answer showed them."""
    if named := {one for one in read.named.tickets if "-" in one}:
        shown = {leaf for one in read.ground.view.calls() for leaf in leaves(one.result)}
        if not named <= shown:
            yield "has an id that nothing showed"


def _numbers(read: Reading) -> Iterator[str]:
    """Numbers: a card's last digits, what was asked for, or a discount."""
    ground = read.ground
    percent = {str(ground.row("orders", key).get("discount_percent")) for key in read.orders}
    ways = (event.arguments.get("to") for event in ground.of("refund"))
    cards = {str(ground.row("payments", to).get("last4")) for to in ways}
    for number in read.named.numbers:
        digits = number.strip(".,%")
        of_card = digits in cards and read.named.means
        asked = digits in ground.asked.numbers and _ASKED.search(read.text)
        discount = digits in percent and re.search(r"@number (?:percent|off)", read.text)
        if not (of_card or asked or discount):
            yield "has a number that nothing bears out"


def _ways_back(read: Reading) -> Iterator[str]:
    """How goods come back: as a return of them says."""
    told = {name for name, words in patterns("methods").items() if words.search(read.text)}
    if not told or read.clause.denied or "at_pickup_point" in read.clause.statuses:
        return
    goods = read.named.kinds_of_goods
    returns = read.ground.of("return", read.orders)
    meant = [one for one in returns if not goods or read.concern(goods, one)]
    if not all(any(read.concern([good], one) for one in meant) for good in goods):
        yield "does not come back"
    if not told <= {str(one.arguments.get("method")) for one in meant}:
        yield "comes back another way"


def _carriers(read: Reading) -> Iterator[str]:
    """Who brings the parcels; nobody can have asked them for anything."""
    if not read.named.carriers:
        return
    known = {read.ground.parcel(key).get("carrier") for key in read.likely}
    if not {*read.named.carriers} <= known:
        yield "is another carrier"
    if pattern("asked_of_carriers").search(read.text):
        yield "can be done by no tool"


def _days(read: Reading) -> Iterator[str]:
    """Each day is that of the column that the words before it tell."""
    ground = read.ground
    before = read.text.split("@date")
    named = read.named.orders
    paired = len(named) == len(read.named.dates) > 1
    for at, (day, words) in enumerate(zip(read.named.dates, before, strict=False)):
        column = next((name for name, of in _DAYS.items() if of.search(words)), "")
        orders = (
            [named[at]]
            if paired
            else read.orders or (ground.told_of if not column else []) or ground.shown
        )
        rows = (ground.row("orders", key) if column else ground.parcel(key) for key in orders)
        if not any(is_day(row.get(column or "arrives"), day) for row in rows):
            yield "days are not those that are meant"


def _places(read: Reading) -> Iterator[str]:
    """Where orders are said to go."""
    ground, places = read.ground, read.named.places
    moved = [str(event.order_id) for event in ground.of("address", read.orders)]
    groups = [found.count("@place") for found in _SIDE_BY_SIDE.findall(read.text)]

    if len(groups) == 1 and not read.named.orders:
        yield from _all_there(read)

    left = list(places)
    for size, meant in zip(groups, _at_places(read, moved, len(groups)), strict=True):
        here, left = left[:size], left[size:]
        was = any(ground.is_address(former(read, key, "address_id"), here) for key in meant)
        if not was and not any(ground.is_at(key, here) for key in meant):
            yield "is another place"

    first = places[: groups[0]] if groups else places
    if _ELSEWHERE.search(read.clause.contrast) and not moved:
        yield "was not sent elsewhere"
    now = moved and not any(former(read, key, "address_id") for key in moved)
    if "address" in read.acts and now and not any(ground.is_at(key, first) for key in moved):
        yield "is another address"


def _all_there(read: Reading) -> Iterator[str]:
    """Of each of the goods some go to the one place that is named."""
    ground = read.ground
    for good in read.named.kinds_of_goods:
        held = [*ground.holding(good, ground.shown)]
        if held and not any(ground.is_at(key, read.named.places) for key in held):
            yield "is not where all of it goes"


def _at_places(read: Reading, moved: Sequence[str], count: int) -> Sequence[Sequence[str]]:
    """The orders that each of so many places may be of: several places belong to as many orders
    or goods, in their order.
    """
    orders = read.orders or moved or read.ground.shown
    by_order: Sequence[Sequence[str]] = [[key] for key in read.named.orders]
    by_goods = [[*read.ground.holding(good, orders)] for good in read.named.goods]
    several = next((of for of in (by_order, by_goods) if len(of) == count > 1), None)

    return several or [orders] * count
