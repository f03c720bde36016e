"""Requests with a complication: conditions, changes of mind, events in the shop, and what is done
already.
"""

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from synth.envs.storefront.customer.script import KINDS, Kind, Revision
from synth.envs.storefront.tasks.entity_resolution import WORDS
from synth.envs.storefront.tasks.requests import answer_to, feasible, worded
from synth.envs.storefront.tasks.user_intents import Draw, Intent
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.rules import BY_STATUS
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import patched
from synth.schemas.check import Scalar, ToldFact

FIRST_TICK, LATEST_TICK = 8, 36
WITHDRAWN_SHARE = 0.25
MANY_ORDERS, MANY_STATUSES = 5, 3
UNASKED_SHARE = 0.5
UNASKED_TURNS = (6, 24)
"""Turns in which a change of mind may be said without being asked, the last one left out."""
CONDITIONAL: Mapping[str, Kind] = {
    "pending": "exchange",
    "shipped": "cancel",
    "delivered": "return",
}
"""Status of an order -> the request about it that can have a condition."""
Drawn = tuple[Intent, Mapping[str, Scalar]]
"""A request, and the start facts that it needs."""


def mine(draw: Draw, *statuses: str) -> list[Shown]:
    """The customer's orders that are no gifts, in one of these statuses, newest first."""
    orders = [draw.base.orders[key] for key in draw.base.orders_of.get(draw.customer_id, ())]
    return [row for row in orders if row["status"] in statuses and row["recipient_id"] is None]


def conditional(draw: Draw, intent: Intent, *, holds: bool = True) -> Intent | None:
    """The request under a condition that holds, or does not; None where it can have none.

    An exchange is made if the new item is in stock, else the whole order is cancelled; an order is
    cancelled unless it was shipped, else its parcel is tracked; a return is made if it brings
    enough.
    """
    (tool, made), *_ = intent.calls
    order, wanted = draw.base.orders[made["order_id"]], intent.request.wanted
    at = {"order_id": made["order_id"]}
    if tool == "modify_lines":
        if len(order["lines"]) > 1 or wanted is None:
            return None
        words = WORDS["only_if_in_stock"].format(colour=wanted)
        done = _under(intent, words, condition="in_stock", otherwise="cancel")
        known = {**intent.details, "reason": draw.detail("reason")}
        cancel = ("cancel_order", {**at, "reason": known["reason"]})
        return done if holds else replace(done, calls=(cancel,), told=(), details=known)

    if tool == "cancel_order":
        words = WORDS["unless_shipped"]
        done = _under(intent, words, condition="not_shipped", otherwise="track")
        if holds:
            return done
        look = ("track_shipment", at)
        return replace(done, calls=(look,), told=tuple(answer_to(draw.base, look)), free=())

    told = answer_to(draw.base, intent.calls[0])
    cents = int(str(told[0].value))
    # a whole amount near the true one, so that only the quote tells which it is
    least_cents = cents // 100 * 100 + (-1000 if holds else 1000) + 100 * draw.rng.randrange(5)
    least = max(least_cents // 100, 1)
    words = WORDS["if_worth_it"].format(least=least)
    worth = {"condition": "refund_at_least", "least": float(least), "tell_total": True}
    done = replace(_under(intent, words, **worth), told=tuple(told))
    return done if holds else replace(done, calls=())


def _under(intent: Intent, words: str, **stated: object) -> Intent:
    return intent.complicated("conditional", words=words, **stated)


def draw_conditional(draw: Draw) -> Drawn | None:
    """A request with a condition, which holds or not by a coin; None where there is none."""
    rng, holds = draw.rng, draw.rng.random() < 0.5
    orders = mine(draw, *CONDITIONAL)
    for order in rng.sample(orders, len(orders)):
        order_id, status = order["order_id"], order["status"]
        facts: dict[str, Scalar] = {}
        if status == "shipped":
            facts = {f"orders/{order_id}/status": "pending"}
        at = replace(draw.with_all_said(), base=patched(draw.base, tuple(facts.items())))
        calls = feasible(at, order_id).get(CONDITIONAL[status])
        if not calls:
            continue
        call = rng.choice(calls)
        if status == "pending" and not holds:
            facts = {f"variants/{sku}/stock": 0 for sku in call[1]["lines"].values()}
        intent = conditional(at, worded(at, call), holds=holds)
        if intent is not None:
            return intent, {} if status == "shipped" and not holds else facts
    return None


def draw_stale(draw: Draw) -> Drawn | None:
    """A request that the shop overtakes while the agent works: the order ships, the coupon expires,
    or the new item is gone.
    """
    rng, rules = draw.rng, draw.base.rules
    tick, orders = rng.randrange(FIRST_TICK, LATEST_TICK), mine(draw, "pending")
    for order in rng.sample(orders, len(orders)):
        order_id, possible = order["order_id"], feasible(draw.with_all_said(), order["order_id"])
        kinds = [kind for kind in possible if KINDS[kind]["tool"] in BY_STATUS]
        for kind in rng.sample(kinds, len(kinds)):
            tool, made = call = rng.choice(possible[kind])
            rule = BY_STATUS[tool]["rule"]
            if tool == "modify_lines":
                (sku,) = made["lines"].values()
                at = draw.with_all_said()
                intent = conditional(at, worded(at, call), holds=False)
                event = ShopEvent(tick, "variants", sku, {"stock": 0}, races=True)
            elif rule in rules.in_force & rules.enforced:
                intent = worded(draw, call).denied(rule, order_id)
                shipped = ShopEvent(tick, "orders", order_id, {"status": "shipped"}, races=True)
                code = str(made.get("code"))
                expired = ShopEvent(tick, "coupons", code, {"active": False}, races=True)
                event = expired if "code" in made else shipped
            else:
                continue
            if intent is not None:
                return replace(intent, events=(event,)).complicated("stale"), {}
    return None


def draw_settled(draw: Draw) -> Drawn | None:
    """A request for what is done already: the customer must be told so.

    None where so little is in view that saying all of it is an answer.
    """
    own = [draw.base.orders[key] for key in draw.base.orders_of[draw.customer_id]]
    if len({order["status"] for order in own}) < MANY_STATUSES:
        return None
    settled = mine(draw, "cancelled", "returned")
    pending = mine(draw, "pending") if len(own) >= MANY_ORDERS else []
    orders = settled or [order for order in pending if order["coupon"] is not None]
    if not orders:
        return None

    order = draw.rng.choice(orders)
    order_id, referent = order["order_id"], draw.refer(order["order_id"])
    status = ToldFact("status", order["status"], order_id)
    total = ToldFact("money", round(order["total"] * 100), order_id)
    if order["status"] == "cancelled":
        intent = draw.intent("cancel", referent, told=[status])
    elif order["status"] == "returned":
        intent = draw.intent("return", referent, told=[status], words="return_all")
    else:
        wanted = order["coupon"]
        intent = draw.intent("coupon", referent, wanted=wanted, tell=True, told=[total])
    return intent.complicated("already_done"), {}


def with_change_of_mind(draw: Draw, intent: Intent, *, may_withdraw: bool) -> Intent:
    """The same request with another one put in its place, or taken back; as it is where there is
    no other.
    """
    request = intent.request
    if may_withdraw and draw.rng.random() < WITHDRAWN_SHARE:
        text = WORDS["withdrawn"].format(number=request.number)
        gone = Revision(request.number, text, turn=_turn(draw))
        nothing = replace(intent, calls=(), told=(), free=(), revisions=(gone,))
        return nothing.complicated("change_of_mind", "withdrawn")
    if intent.referent is None or (request.wanted is None and request.kind != "cancel"):
        return intent

    again = replace(draw.with_all_said(), referent=intent.referent, tell=request.tell_total)
    kind = KINDS[request.kind].get("now", "")
    possible = feasible(again, intent.referent.order_id)
    others = [call for call in possible.get(kind, []) if is_other(intent.calls[0], call)]
    return revised(draw, intent, worded(again, draw.rng.choice(others))) if others else intent


def is_other(call: Call, other: Call) -> bool:
    """Whether the second call does something else instead of the first, with the same line."""
    lines, others = call[1].get("lines", {}), other[1].get("lines", {})
    return call != other and list(lines) == list(others)


def revised(draw: Draw, first: Intent, final: Intent) -> Intent:
    """The final request, which the customer asks for only after the first: when they are asked to
    confirm that one, or in a turn of their own choice before.
    """
    number, request = first.request.number, final.request
    words = WORDS["changes"][request.kind].format(number=number, wanted=request.wanted)
    revision = Revision(number, words, structs.replace(request, text=words), _turn(draw))
    changed = replace(first, calls=final.calls, told=final.told, free=final.free)
    return replace(changed, revisions=(revision,)).complicated("change_of_mind")


def _turn(draw: Draw) -> int:
    return draw.rng.randrange(*UNASKED_TURNS) if draw.rng.random() < UNASKED_SHARE else 0
