"""Requests with a twist: conditions, changes of mind, events in the shop, and what is done
already.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from msgspec import structs

from synth.envs.storefront.customer.script import Kind, Revision
from synth.envs.storefront.tasks.intents import WORDS, Draw, End, Intent, end_of
from synth.envs.storefront.tasks.questions import parcel
from synth.envs.storefront.tasks.requests import (
    MAKERS,
    cancel,
    coupon,
    exchange,
    has_other_address,
    makers,
    other_colours,
)
from synth.envs.storefront.tasks.returns import return_, returnable
from synth.envs.storefront.world.rules import dollars
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import RowPredicate, Scalar

FIRST_TICK, LATEST_TICK = 8, 36
WITHDRAWN_SHARE = 0.25
MANY_ORDERS, MANY_STATUSES = 5, 3
UNASKED_SHARE = 0.5
UNASKED_TURNS = (6, 24)
"""Turns in which a change of mind may be said without being asked, the last one left out."""
Facts = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """The request that a task's twist is about, and the start facts that it needs."""

    order_id: str
    make: Callable[[Draw, str], Intent]
    facts: Facts = ()


def _exchange_if_in_stock(
    draw: Draw,
    order_id: str,
    colour: str = "",
    *,
    holds: bool = True,
    event: ShopEvent | None = None,
) -> Intent:
    """In an order of one line; what is not in stock is cancelled as a whole."""
    if not colour:
        (line_key,) = draw.base.lines_of[order_id]
        colour = draw.rng.choice(sorted(other_colours(draw.base, line_key)))
    done = exchange(draw.with_all_said(), order_id, colour).twisted(
        "conditional",
        *["stale"] * (event is not None),
        words=WORDS["only_if_in_stock"].format(colour=colour),
        condition="in_stock",
        otherwise="cancel",
    )
    if holds:
        return done
    reason = draw.detail("reason")
    end = end_of("exchange_or_cancel", order=order_id, reason=reason)
    events = () if event is None else (event,)
    return done.ending(end, details={**done.details, "reason": reason}, events=events)


def _cancel_unless_shipped(draw: Draw, order_id: str, *, holds: bool = True) -> Intent:
    done = cancel(draw, order_id).twisted(
        "conditional", words=WORDS["unless_shipped"], condition="not_shipped", otherwise="track"
    )
    return done if holds else done.ending(parcel(draw.base, order_id))


def _return_if_worth_it(draw: Draw, order_id: str, *, holds: bool = True) -> Intent:
    done = return_(draw, order_id)
    one = [] if done.referent is None else [done.referent.line_key]
    lines = draw.base.lines_of[order_id] if done.request.noun is None else one
    cents = draw.base.cents(order_id, lines)
    least_cents = cents // 100 * 100 + (-1000 if holds else 1000) + 100 * draw.rng.randrange(5)
    told = end_of("refund_query", order=order_id, cents=cents).told
    end = End(done.required, done.free, told) if holds else End(told=told)
    return done.ending(end).twisted(
        "conditional",
        words=WORDS["if_worth_it"].format(least=least_cents // 100),
        condition="refund_at_least",
        least=dollars(max(least_cents, 100)),
        tell_total=True,
    )


CONDITIONS: Mapping[Kind, Callable[[Draw, str], Intent]] = {
    "exchange": _exchange_if_in_stock,
    "cancel": _cancel_unless_shipped,
    "return": _return_if_worth_it,
}
"""Requests with a condition that holds."""


def _mine(base: BaseWorld, customer_id: str, status: str) -> list[str]:
    mine = {key: base.orders[key] for key in base.orders_of.get(customer_id, ())}
    return [
        key
        for key, order in mine.items()
        if order["status"] == status and order["recipient_id"] is None
    ]


def _exchanges(base: BaseWorld, customer_id: str) -> Iterator[tuple[str, str, str]]:
    """(order, colour, sku) of exchanges of orders with a single line."""
    for key in _mine(base, customer_id, "pending"):
        line_key, *others = base.lines_of[key]
        for colour, sku in sorted(other_colours(base, line_key).items()) if not others else ():
            yield key, colour, sku


def conditionals(rng: Random, base: BaseWorld, customer_id: str) -> list[Subject]:
    """Requests with a condition, which holds or not by a coin."""
    holds = rng.random() < 0.5
    subjects: list[Subject] = []
    exchanges = list(_exchanges(base, customer_id))
    if exchanges:
        key, colour, sku = rng.choice(exchanges)
        out: Facts = () if holds else ((f"variants/{sku}/stock", 0),)
        make = partial(_exchange_if_in_stock, colour=colour, holds=holds)
        subjects.append(Subject(key, make, out))
    for key in _mine(base, customer_id, "shipped")[:1]:
        moved: Facts = ((f"orders/{key}/status", "pending"),) if holds else ()
        subjects.append(Subject(key, partial(_cancel_unless_shipped, holds=holds), moved))
    delivered = _mine(base, customer_id, "delivered")
    worth = [key for key in delivered if returnable(base, key, customer_id)]
    if worth:
        subjects.append(Subject(rng.choice(worth), partial(_return_if_worth_it, holds=holds)))
    return subjects


OVERTAKEN: Mapping[str, tuple[Kind, str, Mapping[str, Scalar]]] = {
    "R3": ("cancel", "orders", {"status": "shipped"}),
    "R11": ("address", "orders", {"status": "shipped"}),
    "R9": ("coupon", "coupons", {"active": False}),
}
"""Rule -> the request that it forbids once something has happened in a table."""


def _overtaken(draw: Draw, order_id: str, *, rule: str, tick: int) -> Intent:
    """A request that an event makes impossible before it can be carried out."""
    kind, table, values = OVERTAKEN[rule]
    done = MAKERS[kind](draw, order_id)
    code = done.details.get("coupon") or done.request.wanted or ""
    event = ShopEvent(tick, table, order_id if table == "orders" else code, values, races=True)
    seen = RowPredicate(table, {"id": event.key, **values})
    return replace(done.denied(rule, order_id, End((seen,))), events=(event,)).twisted("stale")


def stales(rng: Random, base: BaseWorld, customer_id: str) -> list[Subject]:
    """Requests that the shop overtakes while the agent works."""
    tick = rng.randrange(FIRST_TICK, LATEST_TICK)
    subjects = [
        Subject(key, partial(_overtaken, rule=rule, tick=tick))
        for key in _mine(base, customer_id, "pending")
        for rule, (kind, *_) in OVERTAKEN.items()
        if kind in makers(base, key, customer_id)
        and rule in base.rules.in_force & base.rules.enforced
    ]
    for key, colour, sku in _exchanges(base, customer_id):
        gone = ShopEvent(tick, "variants", sku, {"stock": 0}, races=True)
        make = partial(_exchange_if_in_stock, colour=colour, holds=False, event=gone)
        subjects.append(Subject(key, make))
    return subjects


def _settled(draw: Draw, order_id: str) -> Intent:
    """What was cancelled or sent back already."""
    referent, status = draw.refer(order_id), draw.order(order_id)["status"]
    end = end_of("settled", order=order_id, status=status)
    if status == "cancelled":
        return draw.intent("cancel", referent, end).twisted("already_done")
    return draw.intent("return", referent, end, words="return_all").twisted("already_done")


def _has_coupon(draw: Draw, order_id: str) -> Intent:
    order, referent = draw.order(order_id), draw.refer(order_id)
    told = end_of("coupon", order=order_id, code="", total=order["total_cents"]).told
    done = draw.intent("coupon", referent, End(told=told), wanted=order["coupon"], tell=True)
    return done.twisted("already_done")


def settled(rng: Random, base: BaseWorld, customer_id: str) -> list[Subject]:
    """Requests for what is done already: the customer must be told so; none where so little is in
    view that saying all of it is an
    answer.
    """
    orders, own = base.orders, base.orders_of[customer_id]
    if len({orders[key]["status"] for key in own}) < MANY_STATUSES:
        return []
    statuses = ("cancelled", "returned")
    found = [key for status in statuses for key in _mine(base, customer_id, status)]
    pending = _mine(base, customer_id, "pending") if len(own) >= MANY_ORDERS else []
    applied = [key for key in pending if orders[key]["coupon"] is not None]
    return [Subject(key, _settled) for key in found] or [
        Subject(key, _has_coupon) for key in applied
    ]


def with_change_of_mind(draw: Draw, intent: Intent, *, may_withdraw: bool) -> Intent:
    """The same request with another one put in its place, or taken back, when the customer is asked
    to confirm it, or in a turn of their
    own choice before that.
    """
    turn = draw.rng.randrange(*UNASKED_TURNS) if draw.rng.random() < UNASKED_SHARE else 0
    request = intent.request
    if may_withdraw and draw.rng.random() < WITHDRAWN_SHARE:
        text = WORDS["withdrawn"].format(number=request.number)
        gone = Revision(request.number, text, turn=turn)
        nothing = Intent(request, intent.details, referent=intent.referent)
        nothing = replace(nothing, revisions=(gone,), twists=intent.twists)
        return nothing.twisted("change_of_mind", "withdrawn")
    if intent.referent is None or (request.wanted is None and request.kind != "cancel"):
        return intent
    again = replace(draw.with_all_said(), referent=intent.referent)
    other = _instead(again, intent, intent.referent.order_id)
    if other is None:
        return intent
    text = WORDS["changes"][other.request.kind].format(
        number=request.number, wanted=other.request.wanted
    )
    revision = Revision(request.number, text, structs.replace(other.request, text=text), turn)
    changed = replace(other, request=request, details=intent.details, twists=intent.twists)
    return replace(changed, revisions=(revision,)).twisted("change_of_mind")


def _instead(draw: Draw, intent: Intent, order_id: str) -> Intent | None:
    """What a customer may want instead: another colour or coupon, an address in place of a
    cancellation.
    """
    request, base = intent.request, draw.base
    if request.kind not in ("exchange", "coupon"):
        has_other = has_other_address(base, order_id)
        return MAKERS["address"](draw, order_id) if has_other else None
    line_key = "" if intent.referent is None else intent.referent.line_key
    exchanging = request.kind == "exchange"
    options = other_colours(base, line_key) if exchanging else base.tables["coupons"]
    others = [option for option in sorted(options) if option != request.wanted]
    if not others:
        return None
    make = exchange if exchanging else coupon
    return make(draw, order_id, draw.rng.choice(others), request.tell_total)
