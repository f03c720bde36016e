"""Requests that bring an item back: one's own, a gift, and with a card named for the money."""

from dataclasses import replace

from synth.envs.storefront.tasks.intents import WORDS, Draw, End, Intent, end_of
from synth.envs.storefront.tasks.referents import Referent, by_id, described
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.rules import above_limit, is_final_sale, within_window
from synth.envs.storefront.world.world import BaseWorld


def returnable(base: BaseWorld, order_id: str, customer_id: str) -> list[str]:
    """Delivered lines within the window of a customer that are no final sale."""
    order, tier = base.orders[order_id], base.customers[customer_id]["tier"]
    if order["status"] != "delivered" or not within_window(
        base.rules, tier, order["delivered"], base.today
    ):
        return []
    return [
        key
        for key in base.lines_of[order_id]
        if not is_final_sale(base.rules, base.product(key)["category"])
    ]


def refunded(draw: Draw, order_id: str, line_keys: list[str], method: str, refund_to: str) -> End:
    """What holds after a return of the lines, and what may change with it."""
    base, order = draw.base, draw.order(order_id)
    cents = base.cents(order_id, line_keys)
    to_credit = refund_to == STORE_CREDIT or order["recipient_id"] is not None
    end = end_of(
        "refund_above_limit"
        if above_limit(base.rules, cents)
        else "refund_to_credit"
        if to_credit
        else "refund",
        order=order_id,
        cents=cents,
        to=order["payment_id"],
        owner=order["recipient_id"] or order["customer_id"],
    )
    lines = [end_of("line", line=key, method=method) for key in line_keys]
    return End((*(row for line in lines for row in line.required), *end.required), end.free)


def _returned(
    draw: Draw,
    referent: Referent,
    line_keys: list[str],
    words: str,
    refund_to: str | None = None,
    **parts: str,
) -> Intent:
    """A return of the lines in these words; how they go back and where the money goes is drawn."""
    done = draw.intent("return", referent, End(), words=words, parts=parts)
    method, refund_to = draw.detail("method"), refund_to or draw.detail("refund_to")
    end = refunded(draw, referent.order_id, line_keys, method, refund_to)
    known = {**done.details, "method": method, "refund_to": refund_to}
    return done.ending(end, details=known)


def return_(draw: Draw, order_id: str, refund_to: str | None = None) -> Intent:
    """An item, or the whole order where every line of it can be returned; the money goes where the
    customer wants it.
    """
    line_keys = returnable(draw.base, order_id, draw.customer_id)
    referent = draw.refer(order_id, line_keys)
    many = len(line_keys) == len(draw.base.lines_of[order_id]) > 1
    whole = referent.stands_alone and not referent.by_noun and many and draw.rng.random() < 0.5
    if whole:
        return _returned(draw, referent, line_keys, "return_all", refund_to)
    return _returned(draw, referent, [referent.line_key], "return", refund_to)


def return_all(draw: Draw, order_id: str) -> Intent:
    """All lines of an order that is named by its id."""
    line_keys = list(draw.base.lines_of[order_id])
    return _returned(draw, by_id(draw.base, order_id), line_keys, "return_all")


def cards(base: BaseWorld, customer_id: str) -> list[str]:
    """The customer's cards, as the file lists them."""
    payments = base.tables["payments"]
    return [k for k in base.payments_of.get(customer_id, ()) if payments[k]["kind"] == "card"]


def return_to_card(draw: Draw, order_id: str, meant: str | None = None) -> Intent:
    """A return for which the money must go to the card that the order was paid with, which the
    customer names. With a card that is `meant` they say "my card", one of several; R5 forbids it
    where the order was paid with another.
    """
    done = return_(replace(draw, slot=None), order_id, "original")
    paid_with = draw.order(order_id)["payment_id"]
    last4 = draw.base.tables["payments"][meant or paid_with]["last4"]
    known = {name: value for name, value in done.details.items() if name != "refund_to"}
    done = replace(done, details={**known, "card": last4})
    if meant is None:
        return done.twisted(words=WORDS["that_card"].format(last4=last4), pay_to=last4)
    among = len(cards(draw.base, draw.customer_id))
    referent = None if done.referent is None else replace(done.referent, candidates=among)
    wish = replace(done.twisted(words=WORDS["my_card"], pay_to="card"), referent=referent)
    return wish if meant == paid_with else wish.denied("R5", order_id).twisted("ineligible_R5")


def gift_return(draw: Draw, order_id: str, *, named: bool = True) -> Intent:
    """A gift is returned by its recipient, who gets store credit, whatever they would like; named
    by its id, or by who gave it.
    """
    base = draw.base
    line_key = draw.rng.choice(returnable(base, order_id, draw.customer_id))
    item = " ".join(described(base, line_key))
    giver = base.customers[draw.order(order_id)["customer_id"]]["name"]
    referent = replace(
        by_id(base, order_id),
        line_key=line_key,
        by_id=named,
        item=item,
        gift_of=None if named else giver,
    )
    words = "gift_return" if named else "gift_return_of"
    done = _returned(draw, referent, [line_key], words, order_id=order_id, giver=giver)
    return done.twisted("by_other_person")


def gift_request(draw: Draw) -> Intent | None:
    """The return of a gift that the customer was given, if there is one that can go back; by its
    giver's name where they gave one only.
    """
    base = draw.base
    gifts = [
        key
        for key in base.gifts_of.get(draw.customer_id, ())
        if base.orders[key]["status"] == "delivered"
    ]
    givers = [base.customers[base.orders[key]["customer_id"]]["name"] for key in gifts]
    for order_id, giver in zip(gifts, givers, strict=True):
        if giver != base.customers[draw.customer_id]["name"] and returnable(
            base, order_id, draw.customer_id
        ):
            named = givers.count(giver) > 1 or draw.rng.random() < 0.5
            return gift_return(draw, order_id, named=named)
    return None
