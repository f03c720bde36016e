"""Amounts that are named, against what was paid back, what orders come to and what goods cost; and
the means that money went by.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from synth.envs.storefront.check.closing.reading import Reading

_MOST_ADDED = 3
"""Refunds that are told as one sum."""
_BACK = re.compile(r"\bback\b")
_ASKED = re.compile(r"\b(?:asked|wanted|at least|requested|hoped|less than|limit)\b")


def money(read: Reading) -> Iterator[str]:
    """What is not so of amounts, of differences and of means."""
    clause, ground = read.clause, read.ground

    if clause.has("difference"):
        yield from _difference(read)
    elif read.named.amounts:
        asked = ground.asked_amounts if _ASKED.search(read.text) else set()
        if not {*read.named.amounts} <= {*_known(read), *asked}:
            yield "amounts are not those that are meant"

    refunds = ground.of("refund", read.orders)
    if clause.has("original_means") and refunds and not clause.denied:
        paid = {ground.row("orders", event.order_id).get("payment_id") for event in refunds}
        if not {event.arguments.get("to") for event in refunds} <= paid:
            yield "went another way"
    told_how = "@means" in clause.plain and not clause.denied
    if told_how and (not refunds or not {*read.named.means} <= ground.means(refunds)):
        yield "went another way"


def _known(read: Reading) -> Iterable[object]:
    """The amounts that a clause may be about, by its kind: a quote, a total, a price, a refund."""
    clause, ground = read.clause, read.ground
    paid = ground.paid(read.orders)
    of_refund = "refund" in read.acts or bool(read.named.means or _BACK.search(read.text))

    if read.hypothetical and ground.quotes:
        return ground.quotes
    if of_refund:
        unpaid = read.handed_over or clause.denied or read.hypothetical
        return [*paid, *ground.quotes] if unpaid else _sums(paid)
    if clause.has("total"):
        orders = read.orders or [*read.acted, *(event.text for event in ground.told)]
        return [ground.row("orders", key).get("total_cents") for key in orders]
    if clause.has("price") or clause.has("former"):
        column = "former_price_cents" if clause.has("former") else "price_cents"
        return [ground.row("variants", sku).get(column) for sku in _skus(read)]

    # what was quoted, and not paid, is what somebody would get
    quoted = [] if ground.of("refund") else ground.quotes
    return [*(event.told for event in ground.told), *quoted, *_sums(paid)]


def _skus(read: Reading) -> Iterator[str]:
    """The variants that are meant: that fit the goods, or without any those that were told of."""
    ground = read.ground
    told = [event.text for event in ground.told if event.text.startswith("V-")]
    for sku in ground.view.base.tables["variants"] if read.named.goods else told:
        if all(good.fits(ground.variant(sku)) for good in read.named.goods):
            yield sku


def _difference(read: Reading) -> Iterator[str]:
    """What an exchange made an order dearer or cheaper by; nothing where it is said to be none."""
    ground = read.ground
    start = ground.view.base.tables["orders"]
    found = {
        abs(start[key]["total_cents"] - ground.row("orders", key)["total_cents"])
        for key in (str(event.order_id) for event in ground.of("exchange", read.orders))
    }
    if not found or found != set(read.named.amounts or (0,)):
        yield "is another difference"


def _sums(cents: Iterable[int]) -> Iterator[int]:
    """Amounts, and what some of them come to."""
    amounts = list(cents)
    for count in range(1, _MOST_ADDED + 1):
        yield from map(sum, combinations(amounts, count))
