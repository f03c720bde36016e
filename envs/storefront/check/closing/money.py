"""Amounts that are named, against what was paid back, what orders come to and what goods cost; and
the means that money went by.
"""

import re
from collections.abc import Iterator, Sequence

from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.closing.standing import refunded, was_done
from synth.envs.storefront.check.details import sums
from synth.envs.storefront.check.mentions import fit
from synth.envs.storefront.tools.transcript import cents_of

_BACK = re.compile(r"\bback\b")
_PAID = re.compile(r"\b(?:brought|gave|got|received|earned|was returned|were returned)\b")
_ASKED = re.compile(r"\b(?:asked|wanted|at least|requested|hoped|less than|limit)\b")


def money(read: Reading) -> Iterator[str]:
    """What is not so of amounts, of differences and of means."""
    clause, ground = read.clause, read.ground

    if clause.has("difference"):
        yield from _difference(read)
    elif read.named.amounts:
        asked = ground.asked.amounts if _ASKED.search(read.text) else set()
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


def _known(read: Reading) -> Sequence[object]:
    """The amounts that a clause may be about, by its kind: a quote, a total, a price, a refund."""
    clause, ground = read.clause, read.ground
    paid, quotes = cents_of(ground.of("refund", read.orders)), list(_quotes(read))

    if read.hypothetical and ground.quotes:
        return quotes
    if clause.because and "R6" in ground.grounds:
        return [*quotes, *paid]
    if "refund" in read.acts or read.named.means or _BACK.search(read.text):
        return _of_refunds(read, paid, quotes)
    if clause.has("total"):
        return _totals(read)
    if clause.has("price") or clause.has("former"):
        column = "former_price_cents" if clause.has("former") else "price_cents"
        return [ground.row("variants", sku).get(column) for sku in _skus(read)]

    # what was quoted, and not paid, is what somebody would get
    paid_out = (read.did or _PAID.search(read.text)) and not clause.denied
    quoted = [] if ground.of("refund") or paid_out else quotes
    return [*_told(read), *quoted, *sums(paid)]


def _of_refunds(read: Reading, paid: Sequence[int], quotes: Sequence[int]) -> Sequence[int]:
    """What refunds that are spoken of may be: paid, else quoted, or paid before."""
    clause = read.clause
    before = refunded(read) if was_done(read, "refund") else []
    refused = clause.denied or clause.unfinished
    unpaid = read.handed_over or read.is_pending or refused or read.hypothetical

    return [*paid, *quotes, *before] if unpaid else [*sums(paid), *before]


def _totals(read: Reading) -> Sequence[object]:
    """What orders that are meant come to; where each has an amount of its own, those in order."""
    ground, named = read.ground, read.named.orders
    each = len(named) == len(read.named.amounts) > 1
    orders = read.orders or [*read.acted, *ground.told_of] or ground.shown
    totals = [ground.row("orders", key).get("total_cents") for key in orders]

    return [] if each and totals != read.named.amounts else totals


def _quotes(read: Reading) -> Iterator[int]:
    """The quotes, in cents, of the orders and the goods that are meant."""
    ground = read.ground
    goods = read.named.kinds_of_goods
    for one in ground.view.calls("quote_refund"):
        of_it = not goods or fit(goods, ground.touched(one))
        if of_it and (not read.orders or one.order_id in read.orders):
            yield from cents_of([one])


def _told(read: Reading) -> Iterator[object]:
    """The amounts that were told, and what variants that were told of cost now."""
    ground = read.ground
    for one in ground.told:
        if one.text.startswith("V-"):
            if all(good.fits(ground.variant(one.text)) for good in read.named.goods):
                yield ground.row("variants", one.text).get("price_cents")
        elif one.tool == "refund" and _PAID.search(read.text):
            continue
        elif not read.orders or one.text in read.orders:
            yield one.told


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
