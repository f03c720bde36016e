"""Requests with a twist: conditions, changes of mind, events in the shop, and what is done
already.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from msgspec import structs

from synth.envs.storefront.customer.script import Kind, Revision
from synth.envs.storefront.tasks.intents import (
    WORDS,
    Draw,
    Intent,
    address,
    cancel,
    coupon,
    exchange,
    has_other_address,
    other_colours,
)
from synth.envs.storefront.tasks.questions import parcel_facts
from synth.envs.storefront.tasks.returns import paid_cents, return_, returnable
from synth.envs.storefront.world.rules import dollars
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal, RowPredicate, Scalar, ToldFact

FIRST_TICK, LATEST_TICK = 8, 36
WITHDRAWN_SHARE = 0.25
MANY_ORDERS, MANY_STATUSES = 5, 3
UNASKED_SHARE = 0.5
UNASKED_TURNS = (6, 24)
"""Turns in which a change of mind may be said without being asked, the last one left out."""
SHIPPED: dict[str, Scalar] = {"status": "shipped"}


@dataclass(frozen=True, slots=True)
class Subject:
    """The request that a task's twist is about, and the start facts that it needs."""

    order_id: str
    make: Callable[[Draw], Intent]
    facts: tuple[tuple[str, Scalar], ...] = ()


def _exchange_if_in_stock(
    draw: Draw, order_id: str, colour: str, *, holds: bool, event: ShopEvent | None = None
) -> Intent:
    done = exchange(
        replace(draw, config=draw.config.model_copy(update={"missing": 0.0})), order_id, colour
    )
    text = done.request.text + WORDS["only_if_in_stock"].format(colour=colour)
    request = structs.replace(done.request, text=text, condition="in_stock", otherwise="cancel")
    twists = ("conditional", *(("stale",) if event is not None else ()))
    if holds:
        return replace(done, request=request, twists=twists)
    reason = draw.detail("reason")
    required = (
        RowPredicate("orders", {"id": order_id, "status": "cancelled", "cancel_reason": reason}),
    )
    details = {**done.details, "reason": reason}
    events = (event,) if event is not None else ()
    return Intent(
        request,
        details,
        required,
        ("variants/*/stock",),
        referent=done.referent,
        events=events,
        twists=twists,
    )


def _cancel_unless_shipped(draw: Draw, order_id: str, *, holds: bool) -> Intent:
    done = cancel(draw, order_id)
    text = done.request.text + WORDS["unless_shipped"]
    request = structs.replace(done.request, text=text, condition="not_shipped", otherwise="track")
    if holds:
        return replace(done, request=request, twists=("conditional",))
    return Intent(
        request,
        done.details,
        told=parcel_facts(draw.base, order_id),
        referent=done.referent,
        twists=("conditional",),
    )


def _return_if_worth_it(draw: Draw, order_id: str, *, holds: bool) -> Intent:
    done = return_(draw, order_id)
    line_keys = [
        line
        for line in draw.base.lines_of[order_id]
        if done.request.noun is None or line == _line_key(done)
    ]
    amount_cents = paid_cents(draw.base, order_id, line_keys)
    least_cents = (
        amount_cents // 100 * 100 + (-1000 if holds else 1000) + 100 * draw.rng.randrange(5)
    )
    text = WORDS["if_worth_it"].format(least=least_cents // 100)
    request = structs.replace(
        done.request,
        text=done.request.text + text,
        condition="refund_at_least",
        least=dollars(max(least_cents, 100)),
        tell_total=True,
    )
    told = (ToldFact("money", amount_cents, order_id),)
    if holds:
        return replace(done, request=request, told=told, twists=("conditional",))
    return Intent(request, done.details, told=told, referent=done.referent, twists=("conditional",))


def _exchange_of_all_if_in_stock(draw: Draw, order_id: str) -> Intent:
    """For an order of one line: what is not in stock is cancelled as a whole."""
    (line_key,) = draw.base.lines_of[order_id]
    return _exchange_if_in_stock(
        draw, order_id, draw.rng.choice(sorted(other_colours(draw.base, line_key))), holds=True
    )


CONDITIONS: Mapping[Kind, Callable[[Draw, str], Intent]] = {
    "exchange": _exchange_of_all_if_in_stock,
    "cancel": partial(_cancel_unless_shipped, holds=True),
    "return": partial(_return_if_worth_it, holds=True),
}
"""Requests with a condition that holds."""


def _line_key(intent: Intent) -> str:
    return intent.referent.line_key if intent.referent is not None else ""


def _mine(base: BaseWorld, customer_id: str, status: str) -> list[str]:
    orders = base.tables["orders"]
    mine = base.orders_of.get(customer_id, ())
    return [
        key
        for key in mine
        if orders[key]["status"] == status and orders[key]["recipient_id"] is None
    ]


def _exchanges(base: BaseWorld, customer_id: str) -> Iterator[tuple[str, str, str]]:
    """(order, colour, sku) of exchanges of orders with a single line."""
    for key in _mine(base, customer_id, "pending"):
        lines = base.lines_of[key]
        if len(lines) == 1:
            yield from (
                (key, colour, sku) for colour, sku in sorted(other_colours(base, lines[0]).items())
            )


def conditionals(rng: Random, base: BaseWorld, customer_id: str) -> list[Subject]:
    """Requests with a condition, which holds or not by a coin."""
    holds = rng.random() < 0.5
    subjects: list[Subject] = []
    exchanges = list(_exchanges(base, customer_id))
    if exchanges:
        key, colour, sku = rng.choice(exchanges)
        out: tuple[tuple[str, Scalar], ...] = () if holds else ((f"variants/{sku}/stock", 0),)
        subjects.append(
            Subject(key, lambda draw: _exchange_if_in_stock(draw, key, colour, holds=holds), out)
        )
    for order_id in _mine(base, customer_id, "shipped")[:1]:
        moved: tuple[tuple[str, Scalar], ...] = (
            ((f"orders/{order_id}/status", "pending"),) if holds else ()
        )
        subjects.append(
            Subject(
                order_id,
                lambda draw, at=order_id: _cancel_unless_shipped(  # type: ignore[misc]
                    draw, at, holds=holds
                ),
                moved,
            )
        )
    worth = [
        key for key in _mine(base, customer_id, "delivered") if returnable(base, key, customer_id)
    ]
    if worth:
        at = rng.choice(worth)
        subjects.append(Subject(at, lambda draw: _return_if_worth_it(draw, at, holds=holds)))
    return subjects


def _overtaken(draw: Draw, order_id: str, rule: str, event: ShopEvent) -> Intent:
    """A request that an event makes impossible before it can be carried out."""
    kinds = {"R3": cancel, "R11": address, "R9": coupon}
    done = kinds[rule](draw, order_id)
    if rule == "R9" and event.table == "coupons":
        event = structs.replace(event, key=done.details.get("coupon") or done.request.wanted or "")
    seen = RowPredicate(event.table, {"id": event.key, **event.values})
    refusal = Refusal(str(draw.number), rule, order_id)
    return replace(
        done,
        required=(seen,),
        free=(),
        told=(),
        refusals=(refusal,),
        events=(event,),
        twists=(*done.twists, "stale"),
    )


def stales(rng: Random, base: BaseWorld, customer_id: str) -> list[Subject]:
    """Requests that the shop overtakes while the agent works."""
    tick = rng.randrange(FIRST_TICK, LATEST_TICK)
    subjects = []
    for key in _mine(base, customer_id, "pending"):
        ships = ShopEvent(tick, "orders", key, SHIPPED, races=True)
        kinds = [("R3", ships), ("R11", ships)] if has_other_address(base, key) else [("R3", ships)]
        if base.tables["orders"][key]["coupon"] is None:
            kinds.append(("R9", ShopEvent(tick, "coupons", "", {"active": False}, races=True)))
        for rule, event in kinds:
            if rule in base.rules.in_force and rule in base.rules.enforced:
                subjects.append(
                    Subject(
                        key,
                        lambda draw, at=key, r=rule, e=event: _overtaken(  # type: ignore[misc]
                            draw, at, r, e
                        ),
                    )
                )
    for key, colour, sku in _exchanges(base, customer_id):
        gone = ShopEvent(tick, "variants", sku, {"stock": 0}, races=True)
        subjects.append(
            Subject(
                key,
                lambda draw, at=key, c=colour, e=gone: _exchange_if_in_stock(  # type: ignore[misc]
                    draw, at, c, holds=False, event=e
                ),
            )
        )
    return subjects


def _settled(draw: Draw, order_id: str, status: str) -> Intent:
    referent = draw.refer(order_id)
    kind, words = ("cancel", "cancel") if status == "cancelled" else ("return", "return_all")
    request = draw.request(kind, draw.words(words, order=referent.phrase), referent, item=False)  # type: ignore[arg-type]
    fact = ToldFact("status", status, order_id)
    return Intent(
        request, dict(referent.details), told=(fact,), referent=referent, twists=("already_done",)
    )


def _has_coupon(draw: Draw, order_id: str) -> Intent:
    order = draw.base.tables["orders"][order_id]
    referent = draw.refer(order_id)
    text = draw.words("coupon", order=referent.phrase, wanted=order["coupon"]) + WORDS["tell_total"]
    request = draw.request("coupon", text, referent, item=False, wanted=order["coupon"], tell=True)
    fact = ToldFact("money", order["total_cents"], order_id)
    return Intent(
        request, dict(referent.details), told=(fact,), referent=referent, twists=("already_done",)
    )


def settled(rng: Random, base: BaseWorld, customer_id: str) -> list[Subject]:
    """Requests for what is done already: the customer must be told so; none where so little is in
    view that saying all of it is an
    answer.
    """
    orders = base.tables["orders"]
    if len({orders[key]["status"] for key in base.orders_of[customer_id]}) < MANY_STATUSES:
        return []
    found = [
        Subject(key, lambda draw, at=key, s=status: _settled(draw, at, s))  # type: ignore[misc]
        for status in ("cancelled", "returned")
        for key in _mine(base, customer_id, status)
    ]
    applied = [
        key for key in _mine(base, customer_id, "pending") if orders[key]["coupon"] is not None
    ]
    many = len(base.orders_of[customer_id]) >= MANY_ORDERS
    return found or [
        Subject(key, lambda draw, at=key: _has_coupon(draw, at))  # type: ignore[misc]
        for key in applied
        if many
    ]


def with_change_of_mind(draw: Draw, intent: Intent, *, may_withdraw: bool) -> Intent:
    """The same request with another one put in its place, or taken back, when the customer is asked
    to confirm it, or in a turn of their
    own choice before that.
    """
    turn = draw.rng.randrange(*UNASKED_TURNS) if draw.rng.random() < UNASKED_SHARE else 0
    if may_withdraw and draw.rng.random() < WITHDRAWN_SHARE:
        gone = Revision(
            intent.request.number,
            WORDS["withdrawn"].format(number=intent.request.number),
            turn=turn,
        )
        nothing = Intent(intent.request, intent.details, referent=intent.referent)
        return replace(
            nothing, revisions=(gone,), twists=(*intent.twists, "change_of_mind", "withdrawn")
        )
    request, referent = intent.request, intent.referent
    if referent is None or (request.wanted is None and request.kind != "cancel"):
        return intent
    order_id = referent.order_id
    again = replace(draw, referent=referent, config=draw.config.model_copy(update={"missing": 0.0}))
    if request.kind == "exchange":
        colours = [
            colour
            for colour in sorted(other_colours(draw.base, referent.line_key))
            if colour != request.wanted
        ]
        other = (
            exchange(again, order_id, draw.rng.choice(colours), request.tell_total)
            if colours
            else None
        )
    elif request.kind == "coupon":
        codes = [code for code in sorted(draw.base.tables["coupons"]) if code != request.wanted]
        other = coupon(again, order_id, draw.rng.choice(codes), request.tell_total)
    else:
        other = address(again, order_id) if has_other_address(draw.base, order_id) else None
    if other is None:
        return intent
    text = WORDS["changes"][other.request.kind].format(
        number=request.number, wanted=other.request.wanted
    )
    revised = structs.replace(other.request, text=text)
    revision = Revision(request.number, text, revised, turn)
    return replace(
        other,
        request=request,
        details=intent.details,
        revisions=(revision,),
        twists=(*intent.twists, "change_of_mind"),
    )
