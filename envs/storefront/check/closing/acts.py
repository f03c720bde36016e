"""Acts that are said to have been done, or not: some event must bear them out, or none speak
against them.
"""

import re
from collections.abc import Iterator

from synth.envs.storefront.check.closing.backing.reasons import (
    is_another_reason,
    tells_another_rule,
)
from synth.envs.storefront.check.closing.backing.said import pattern, patterns
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.closing.standing import had, was_done
from synth.envs.storefront.check.ground import HELD_BY

_BECAUSE = re.compile(r"\b(?:because|since|as|so|therefore|why|due to|given)\b")
_OF_PLACES = ("address", "return", "coupon")
"""Acts whose words may stand behind "instead of" without having been asked for."""


def acts(read: Reading) -> Iterator[str]:
    """What is not borne out of the acts that a clause names."""
    for act in read.acts:
        if read.clause.denied or read.clause.unfinished or read.is_kept(act):
            yield from _denied(read, act)
        elif read.clause.because and not (read.did or read.of(act)):
            continue
        elif not read.of(act) and not _held(read, act):
            yield f"nothing bears out: {act}"
        elif len(read.acts) == 1 and not all(_done_to(read, act, key) for key in read.named.orders):
            yield f"is not so of all orders: {act}"

    for act, words in patterns("acts").items():
        if act not in _OF_PLACES and words.search(read.clause.contrast) and read.of(act):
            yield f"was done: {act}"


def whole(read: Reading) -> Iterator[str]:
    """What is said of everything at once, or of something done that no act is named for."""
    clause, ground = read.clause, read.ground
    yield from _beyond_the_tools(read)
    changed = any(had(read, "exchange", key) for key in read.meant)
    if clause.has("changed_before") and changed == clause.denied:
        yield "is not how it was changed before"
    if tells_another_rule(read.text):
        yield "is no rule by which anything was denied"
    if clause.has("outside") and not (_is_impossible(read) or clause.because):
        yield "can be done by no tool"
    yield from _left_as_it_was(read)

    if clause.has("untouched") or clause.has("no_need"):
        return
    if clause.denied:
        elsewhere = any(map(clause.has, ("difference", "not_in_stock", "outside", "not_on_file")))
        if not (read.acts or clause.statuses or ground.grounds or elsewhere) and ground.acts:
            yield "something was done"
    else:
        yield from _done(read)


def _beyond_the_tools(read: Reading) -> Iterator[str]:
    """What no tool can do or show, unless it is denied or handed over."""
    clause = read.clause

    if clause.has("to_others") and not (read.handed_over and read.ground.of("escalate")):
        yield "can be done by no tool"
    if clause.has("beyond") and not (clause.denied or clause.unfinished or clause.because):
        yield "is known to nobody here"


def _is_impossible(read: Reading) -> bool:
    """Whether something is said to be out of reach: in vain, or handed over."""
    return read.handed_over or (read.clause.denied and read.clause.has("in_vain"))


def _left_as_it_was(read: Reading) -> Iterator[str]:
    """What is said to be kept, to be untouched, or to need no change."""
    clause, named = read.clause, read.named
    things = named.goods or named.orders
    kept = clause.has("kept") and not (clause.statuses or named.places)

    if kept and things and read.was_changed():
        yield "was not left as it was"
    if clause.has("untouched"):
        if clause.has("total"):
            yield from _another_total(read)
        elif read.was_changed() and not read.in_part():
            yield "was changed"
    elif clause.has("no_need") and things and read.was_changed():
        yield "was changed"


def _done(read: Reading) -> Iterator[str]:
    """What is said to be done in whole, at last, later, or in no act's name."""
    clause, ground = read.clause, read.ground
    done = bool(ground.acts or ground.told)
    some = ground.denied and "everything else" not in read.text

    if clause.has("complete") and (some or not done):
        yield "was denied in part"
    if clause.has("finished") and not done:
        yield "nothing was done"
    if clause.has("later") and read.events:
        yield "was done, and is said to be done later"
    yield from _unnamed(read, done=done)


def _another_total(read: Reading) -> Iterator[str]:
    """What is said to cost as much as before must."""
    start = read.ground.view.base.tables["orders"]
    for key in read.orders or read.acted:
        if start[key]["total_cents"] != read.ground.row("orders", key)["total_cents"]:
            yield "costs more or less than before"


def _unnamed(read: Reading, *, done: bool) -> Iterator[str]:
    """Something done without an act's own name: to what is named, or at all."""
    named = read.named
    told = (named.amounts or named.dates) and not read.is_own
    if not read.did or read.acts or read.clause.statuses or told or read.clause.has("kept"):
        return
    if not (read.orders or named.goods):
        if not done:
            yield "nothing was done"
        elif not all(pattern("vague").match(verb) for verb in read.did):
            yield "was done, and what is not read"
    elif not all(
        pattern("vague").match(verb) or pattern("done_to").match(verb) for verb in read.did
    ):
        yield "was done, and how is not read"
    elif not read.was_changed():
        yield "nothing bears out that it was done"


def _denied(read: Reading, act: str) -> Iterator[str]:
    """What is said not to have been done must not have been, of nothing that may be meant."""
    goods, means = read.named.goods, {*read.named.means} if act == "refund" else set()
    in_vain, refused = read.clause.has("in_vain"), read.clause.has("refused")
    found = [
        event
        for event in read.ground.of(act, read.orders)
        if (not goods or read.concern(goods, event))
        and (not means or means & read.ground.means([event]))
    ]
    if found:
        yield f"was done: {act}"
    elif not (read.sure_orders or goods or means) and read.ground.of(act):
        yield f"may have been done: {act}"
    elif not (in_vain or refused) and any(had(read, act, key) for key in read.orders):
        yield f"had been done: {act}"
    elif in_vain and not (read.ground.grounds or read.ground.failed):
        yield f"was not tried: {act}"
    elif refused and not (read.ground.denied or read.ground.failed):
        yield f"was not refused: {act}"
    elif _BECAUSE.search(read.clause.sentence) and is_another_reason(
        read.clause.sentence, read.ground
    ):
        yield "is another reason"


def _held(read: Reading, act: str) -> bool:
    """Whether a clause is borne out without an act of the agent's: by a quote of what would be, by
    how an order stands, or by a refund above the limit that was handed over.
    """
    ground = read.ground
    if act in ("return", "refund") and ground.quotes and _is_what_would_be(read):
        return True
    if act in HELD_BY and not read.is_own:
        orders = read.orders or [event.text for event in ground.told]
        return any(ground.stands(act, key) for key in orders)
    if was_done(read, act):
        return True
    if act == "coupon" and not (read.is_own or read.orders or ground.denied):
        used = {ground.row("orders", key).get("coupon") for key in ground.shown}
        return not used.isdisjoint(ground.asked.codes)
    if act == "address":
        return bool(read.named.places) and not read.clause.has("changed")

    return act == "refund" and "R6" in ground.grounds and (read.handed_over or read.is_pending)


def _is_what_would_be(read: Reading) -> bool:
    return read.hypothetical or read.clause.has("modal")


def _done_to(read: Reading, act: str, order_id: str) -> bool:
    """Whether an act was done to one of several orders that are named."""
    return (
        bool(read.ground.of(act, [order_id]))
        or read.ground.stands(act, order_id)
        or ((act not in HELD_BY or _is_what_would_be(read)) and _held(read, act))
    )
