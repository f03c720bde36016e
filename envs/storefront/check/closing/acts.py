"""Acts that are said to have been done, or not: some event must bear them out, or none speak
against them.
"""

import re
from collections.abc import Iterator

from synth.envs.storefront.check.closing.clauses import patterns
from synth.envs.storefront.check.closing.reading import Reading

_HELD = {"cancel": ("status", ("cancelled",)), "return": ("status", ("returned",))}
"""Acts that an order's own column bears out, whoever saw to it."""
_OF_PLACES = ("address", "return")
"""Acts whose words may stand behind "instead of" without having been asked for."""


def acts(read: Reading) -> Iterator[str]:
    """What is not borne out of the acts that a clause names."""
    for act in read.acts:
        if read.clause.denied:
            yield from _denied(read, act)
        elif not read.of(act) and not _held(read, act):
            yield f"nothing bears out: {act}"
        elif len(read.acts) == 1 and not all(_done_to(read, act, key) for key in read.named.orders):
            yield f"is not so of all orders: {act}"
        elif read.clause.unfinished and read.of(act):
            yield f"was done: {act}"

    for act, words in patterns("acts").items():
        if act not in _OF_PLACES and words.search(read.clause.contrast) and read.of(act):
            yield f"was done: {act}"


def whole(read: Reading) -> Iterator[str]:
    """What is said of everything at once, or of something done that no act is named for."""
    clause, ground = read.clause, read.ground
    done = bool(ground.acts or ground.told)

    if clause.has("outside") and not (clause.denied or read.handed_over or clause.because):
        yield "can be done by no tool"
    if clause.has("kept") and (read.named.goods or read.named.orders) and read.was_changed():
        yield "was not left as it was"
    if clause.has("untouched"):
        if read.was_changed():
            yield "was changed"
    elif clause.denied:
        elsewhere = any(map(clause.has, ("difference", "not_in_stock", "outside")))
        if not (read.acts or clause.statuses or ground.grounds or elsewhere) and ground.acts:
            yield "something was done"
    else:
        if clause.has("complete") and (ground.denied or not done):
            yield "was denied in part"
        if clause.has("finished") and not done:
            yield "nothing was done"
        if clause.has("later") and read.events:
            yield "was done, and is said to be done later"
        yield from _unnamed(read, done=done)


def _unnamed(read: Reading, *, done: bool) -> Iterator[str]:
    """Something done without an act's own name: to what is named, or at all."""
    named = read.named
    if not read.did or read.acts or read.clause.statuses or named.amounts or named.dates:
        return
    if not (read.orders or named.goods):
        if not done:
            yield "nothing was done"
    elif not read.was_changed():
        yield "nothing bears out that it was done"


def _denied(read: Reading, act: str) -> Iterator[str]:
    """What is said not to have been done must not have been, of nothing that may be meant."""
    goods, means = read.named.goods, {*read.named.means} if act == "refund" else set()
    found = read.ground.of(act, read.orders)
    if goods:
        found = [event for event in found if read.concern(goods, event)]
    if means:
        found = [event for event in found if means & read.ground.means([event])]
    if found:
        yield f"was done: {act}"
    elif not (read.orders or goods or means) and read.ground.of(act):
        yield f"may have been done: {act}"
    elif read.clause.has("in_vain") and not (read.ground.grounds or read.ground.failed):
        yield f"was not tried: {act}"


def _held(read: Reading, act: str) -> bool:
    """Whether a clause is borne out without an act of the agent's: by a quote of what would be, by
    how an order stands, or by a refund above the limit that was handed over.
    """
    ground = read.ground
    if act in ("return", "refund") and ground.quotes and _is_what_would_be(read):
        return True
    if act in _HELD and not read.is_own:
        return _stands(read, act, read.orders or [event.text for event in ground.told])
    if act == "coupon" and not read.is_own:
        return any(ground.row("orders", key).get("coupon") for key in read.orders)
    if act == "address":
        return bool(read.named.places) and not read.clause.has("changed")

    return act == "refund" and "R6" in ground.grounds and read.handed_over


def _is_what_would_be(read: Reading) -> bool:
    return read.hypothetical or read.clause.has("modal")


def _done_to(read: Reading, act: str, order_id: str) -> bool:
    """Whether an act was done to one of several orders that are named."""
    return (
        bool(read.ground.of(act, [order_id]))
        or _stands(read, act, [order_id])
        or (act not in _HELD and _held(read, act))
    )


def _stands(read: Reading, act: str, orders: list[str]) -> bool:
    """Whether an order stands as an act would have left it."""
    column, values = _HELD.get(act, ("", ()))
    return any(read.ground.row("orders", key).get(column) in values for key in orders)


def only_spoke(read: Reading) -> bool:
    """Whether somebody only looked, or spoke, or helped."""
    return read.is_own and not read.did and not read.acts


def spoken_of_requests(read: Reading) -> bool:
    """Whether it is the customer's requests that are counted."""
    return not read.acts or re.search(r"\brequests?\b", read.text) is not None
