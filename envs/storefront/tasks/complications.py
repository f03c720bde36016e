"""Requests with a complication: conditions, events in the shop, and what is done already."""

from collections.abc import Mapping
from dataclasses import replace

from synth.envs.storefront.customer.script import ShopEvent
from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent, Subject
from synth.envs.storefront.tasks.referent import refer
from synth.envs.storefront.tasks.wording import answer_to, worded
from synth.envs.storefront.world.policy import BY_STATUS, Call
from synth.envs.storefront.world.world import patched
from synth.schemas import Scalar, Tell

FIRST_TICK, LATEST_TICK = 8, 36
MANY_ORDERS, MANY_STATUSES = 5, 3
CONDITIONAL = {"pending": "exchange", "shipped": "cancel", "delivered": "return"}
"""Status of an order -> the request about it that can have a condition."""


def conditional(draw: Draw, intent: Intent, *, holds: bool = True) -> Intent | None:
    """The request under a condition that holds, or does not; None where it can have none.

    An exchange is made if the new item is in stock, else the whole order is cancelled; an order is
    cancelled unless it was shipped, else its parcel is tracked; a return is made if it brings
    enough.
    """
    request = intent.request
    call = intent.calls[0]
    order_id = call[1]["order_id"]
    several = len(draw.base.orders[order_id]["lines"]) > 1

    # the whole order is cancelled otherwise, so that it may hold nothing else
    if request.kind == "exchange" and (several or request.wanted is None):
        return None

    stated = dict(WORDS["conditions"][request.kind])
    details = dict(intent.details)
    told = intent.told
    least = 0
    # nothing is done in place of a return
    otherwise: tuple[Call, ...] = ()

    if request.kind == "return":
        # a whole amount near the true one, so that only the quote tells on which side it lies
        told = answer_to(draw.base, call)
        away = (-10 if holds else 10) + draw.rng.randrange(5)
        least = max(int(str(told[0].value)) // 100 + away, 1)
        stated["least"] = float(least)
    elif request.kind == "exchange":
        reason = draw.detail("reason")
        otherwise = (("cancel_order", {"order_id": order_id, "reason": reason}),)
        # an answer to "why?" is needed only where it comes to that
        details |= {} if holds else {"reason": reason}
        told = told if holds else ()
    else:
        otherwise = (("track_shipment", {"order_id": order_id}),)
        told = told if holds else answer_to(draw.base, otherwise[0])

    words = stated.pop("words").format(wanted=request.wanted, least=least)
    done = intent.complicated("conditional", words=words, **stated)
    done = replace(done, details=details, told=told)

    return done if holds else replace(done, calls=otherwise, free=())


def draw_conditional(draw: Draw) -> Subject | None:
    """A request with a condition, which holds or not by a coin; None where there is none."""
    rng = draw.rng
    holds = rng.random() < 0.5

    for order in draw.mine(*CONDITIONAL):
        order_id = order["order_id"]
        status = order["status"]
        # the shipped order is open again in the world where the condition holds
        facts: dict[str, Scalar] = {}
        facts |= {f"orders/{order_id}/status": "pending"} if status == "shipped" else {}
        at = replace(draw.with_all_said(), base=patched(draw.base, tuple(facts.items())))
        calls = at.feasible(order_id).get(CONDITIONAL[status])

        if not calls:
            continue

        tool, made = rng.choice(calls)
        intent = conditional(at, worded(at, (tool, made)), holds=holds)

        if intent is not None:
            if not holds:
                # what is not in stock is so by a start fact: the world's own stock is never empty
                swapped = made["lines"].values() if tool == "modify_lines" else ()
                facts = {f"variants/{sku}/stock": 0 for sku in swapped}

            return Subject(patched(draw.base, tuple(facts.items())), (intent,), facts)

    return None


def draw_stale(draw: Draw) -> Subject | None:
    """A request that the shop overtakes while the agent works: the order ships, the coupon expires,
    or the new item is gone.
    """
    rng = draw.rng
    at = draw.with_all_said()
    tick = rng.randrange(FIRST_TICK, LATEST_TICK)

    for order in draw.mine("pending"):
        every = at.feasible(order["order_id"]).values()
        # the shop can overtake what an order's status decides
        possible = [calls for calls in every if calls[0][0] in BY_STATUS]

        for calls in rng.sample(possible, len(possible)):
            call = rng.choice(calls)
            intent = _overtaken(draw, call)

            if intent is not None:
                event = ShopEvent(tick, *_in_the_way(call), races=True)
                stale = replace(intent, events=(event,)).complicated("stale")

                return Subject(draw.base, (stale,))

    return None


def _overtaken(
    draw: Draw,
    call: Call,
) -> Intent | None:
    """The request as it ends when the shop was faster; None where nothing would show it."""
    tool, made = call
    rules = draw.base.rules

    if tool == "modify_lines":
        at = draw.with_all_said()

        return conditional(at, worded(at, call), holds=False)

    rule = BY_STATUS[tool]["rule"]
    # where no tool holds the rule the write succeeds, and nothing can be seen of the race
    is_held = rule in rules.in_force & rules.enforced

    return worded(draw, call).denied(rule, made["order_id"]) if is_held else None


def _in_the_way(call: Call) -> tuple[str, str, Mapping[str, Scalar]]:
    """Table, key and values of the row by which the shop overtakes a call."""
    tool, made = call

    if tool == "modify_lines":
        return "variants", next(iter(made["lines"].values())), {"stock": 0}
    if tool == "apply_coupon":
        return "coupons", made["code"], {"active": False}

    return "orders", made["order_id"], {"status": "shipped"}


def draw_settled(draw: Draw) -> Subject | None:
    """A request for what is done already: the customer must be told so.

    None where so little is in view that saying all of it is an answer.
    """
    own = draw.orders

    if len({order["status"] for order in own}) < MANY_STATUSES:
        return None

    settled = draw.mine("cancelled", "returned")
    # a coupon that is on an order already, for those who have many orders
    pending = draw.mine("pending") if len(own) >= MANY_ORDERS else []
    orders = settled or [order for order in pending if order["coupon"] is not None]

    if not orders:
        return None

    order = orders[0]
    order_id = order["order_id"]
    referent = refer(draw, order_id)
    status = Tell("status", order["status"], order_id)
    total = Tell(
        "money",
        round(order["total"] * 100),
        order_id,
    )

    if order["status"] == "cancelled":
        done = draw.intent("cancel", referent, told=[status])
    elif order["status"] == "returned":
        done = draw.intent("return", referent, told=[status], words="return_all")
    else:
        code = order["coupon"]
        done = draw.intent(
            "coupon",
            referent,
            wanted=code,
            tell=True,
            told=[total],
        )

    return Subject(draw.base, (done.complicated("already_done"),))
