"""The request that a customer made if this was to be done for them: drawn from the goal grammar
until what it requires is what was done.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.customer.script import Kind
from synth.envs.storefront.reverse.matters import Matter
from synth.envs.storefront.tasks.ambiguous import open_among_several
from synth.envs.storefront.tasks.goals import ALWAYS_FREE
from synth.envs.storefront.tasks.intents import Draw, Intent, Maker, address, destinations
from synth.envs.storefront.tasks.questions import makers, out_of_scope
from synth.envs.storefront.tasks.referents import Slot
from synth.envs.storefront.tasks.returns import gift_return, returnable
from synth.envs.storefront.tasks.twists import CONDITIONS, with_change_of_mind
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.rules import BEFORE_SHIPPING
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check, Facts
from synth.schemas.reverse import NoGoal

MOST_DRAWS = 400
"""A request that one draw in 30 makes is missed in one of 10^5 cases; a return has 3 ways, 2
destinations, and one set of lines or all.
"""
PLAIN = 0.5
"""Least weight of requests without a twist: most deeds allow no other."""
KIND_OF: Mapping[frozenset[str], Kind] = {
    frozenset({"cancel_order"}): "cancel",
    frozenset({"change_address"}): "address",
    frozenset({"modify_lines"}): "exchange",
    frozenset({"apply_coupon"}): "coupon",
    frozenset({"create_return", "issue_refund"}): "return",
    frozenset({"create_return", "escalate"}): "return",
    frozenset({"issue_refund"}): "compensation",
}
"""The request that a set of tools serves."""
HALVES = frozenset({"create_return", "escalate"})
"""Tools that do half of what a customer asks for."""
ANY_ORDER = ("escalations/E-general.1/order_id",)
"""Whoever escalates what is out of scope may name an order or none."""
LEFT_OPEN: Mapping[Kind, tuple[Slot, ...]] = {
    "return": ("order", "item"),
    "exchange": ("order", "item"),
    "address": ("order", "address"),
}
"""What the words may leave open; the order alone with all other kinds."""
FIRST_WISH: Mapping[Kind, Kind] = {"exchange": "exchange", "coupon": "coupon", "address": "cancel"}
"""What somebody may have wanted first who then changed their mind to a request of a kind."""


def wish(
    matter: Matter,
    name: str,
    number: int,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
    changed: Facts,
) -> Intent | NoGoal:
    """The request of this number; `name` seeds the words, `changed` are the facts after the
    window.
    """
    codes = [write.arguments["reason_code"] for write in matter.writes if write.tool == "escalate"]
    if matter.order_id is None or set(codes) - {"refund_limit"}:
        if (
            matter.order_id is not None
            or codes != ["out_of_scope"]
            or "R13" not in base.rules.in_force
        ):
            return NoGoal("escalated_without_need")
        return replace(
            out_of_scope(Draw(Random(name), config, base, number, customer_id)), free=ANY_ORDER
        )
    kind = KIND_OF.get(matter.tools)
    if kind is None:
        return NoGoal("half_a_return" if matter.tools <= HALVES else "order_written_twice")
    make = _maker(kind, base, matter.order_id, customer_id)
    if make is None:
        return NoGoal(f"not_allowed:{kind}")
    for attempt in range(MOST_DRAWS):
        intent = _drawn(
            Draw(Random(f"{name}/{attempt}"), config, base, number, customer_id),
            name,
            kind,
            make,
            matter,
        )
        if intent is not None and _achieved(intent, base, changed, matter.order_id):
            return intent
    return NoGoal(f"no_words:{kind}")


def named(draw: Draw, matter: Matter) -> Draw:
    """The draw with words for the order and for one of the items that it was done with; for several
    items, such as need none.
    """
    order_id = str(matter.order_id)
    numbers = [number for write in matter.writes for number in write.arguments.get("lines", ())]
    config = (
        draw.config
        if len(numbers) < 2
        else draw.config.model_copy(update={"description_share": 0.0})
    )
    return replace(
        draw,
        referent=replace(draw, config=config).refer(
            order_id, [f"{order_id}.{number}" for number in numbers]
        ),
    )


def _drawn(plain: Draw, name: str, kind: Kind, make: Maker, matter: Matter) -> Intent | None:
    """A request of the kind, about as often with a twist as those of the task mix; None where the
    twist leads nowhere.

    Whether one may be ambiguous whose first that fits is right is the same in every draw: `name`
    decides.
    """
    mix, order_id = plain.config.mix, str(matter.order_id)
    twist = plain.rng.choices(
        ("ambiguous", "conditional", None),
        (mix.ambiguous, mix.conditional, max(mix.feasible, PLAIN)),
    )[0]
    slot = plain.rng.choice(LEFT_OPEN.get(kind, ("order",))) if twist == "ambiguous" else None
    draw = named(replace(plain, slot=slot), matter)
    if not _has_words(draw, kind, order_id):
        return None
    if slot is not None:
        return open_among_several(replace(draw, rng=Random(name)), slot, make(draw, order_id))
    if (
        twist == "conditional"
        and kind in CONDITIONS
        and draw.base.tables["orders"][order_id]["customer_id"] == draw.customer_id
    ):
        one_line = len(draw.base.lines_of[order_id]) == 1
        return CONDITIONS[kind](draw, order_id) if one_line or kind != "exchange" else None
    changes = draw.config.dialogue and "R2" in draw.base.rules.in_force and kind in FIRST_WISH
    if not changes or draw.rng.random() >= draw.config.changes_of_mind:
        return make(draw, order_id)
    first = makers(draw.base, order_id, draw.customer_id).get(FIRST_WISH[kind])
    return with_change_of_mind(draw, (first or make)(draw, order_id), may_withdraw=False)


def _maker(kind: Kind, base: BaseWorld, order_id: str, customer_id: str) -> Maker | None:
    """What makes such a request about an order, where nothing forbids it."""
    order = base.tables["orders"][order_id]
    if kind == "return" and order["recipient_id"] == customer_id:
        return (
            _gift
            if returnable(base, order_id, customer_id) and "R15" in base.rules.in_force
            else None
        )
    if order["customer_id"] != customer_id:
        return None
    if kind == "address" and order["status"] in BEFORE_SHIPPING:
        return address
    return makers(base, order_id, customer_id).get(kind)


def _gift(draw: Draw, order_id: str) -> Intent:
    """A gift is named by who gave it only where they gave one."""
    orders = draw.base.tables["orders"]
    giver = orders[order_id]["customer_id"]
    given = [
        key for key in draw.base.gifts_of[draw.customer_id] if orders[key]["customer_id"] == giver
    ]
    return gift_return(draw, order_id, by_id=len(given) > 1 or draw.rng.random() < 0.5)


def _has_words(draw: Draw, kind: Kind, order_id: str) -> bool:
    """Whether some city names as many addresses as may be meant."""
    low, high = draw.config.ambiguity if draw.slot == "address" else (1, 1)
    return kind != "address" or any(
        low <= len(keys) <= high for keys in destinations(draw.base, order_id).values()
    )


def _achieved(intent: Intent, base: BaseWorld, changed: Facts, order_id: str) -> bool:
    """Whether all that the request requires holds, and whatever else is new with the order comes
    with it.
    """
    of_order = {path: value for path, value in changed.items() if order_id in path}
    return evaluate(
        Check(required=intent.required, free=ALWAYS_FREE + intent.free), base, of_order, ()
    ).passed
