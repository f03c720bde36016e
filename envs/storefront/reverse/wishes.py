"""The request that a customer made if this was to be done for them, or was to be refused: drawn
from the goal grammar until what it requires is what was done.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.customer.script import KINDS, Kind, Request
from synth.envs.storefront.reverse.matters import Matter
from synth.envs.storefront.reverse.refusals import denied_wish, draws, named
from synth.envs.storefront.tasks.ambiguous import open_among_several
from synth.envs.storefront.tasks.goals import ALWAYS_FREE
from synth.envs.storefront.tasks.intents import Draw, Intent, end_of
from synth.envs.storefront.tasks.plots import asks_first
from synth.envs.storefront.tasks.questions import out_of_scope
from synth.envs.storefront.tasks.requests import (
    MAKERS,
    Maker,
    fitting_cities,
    makers,
)
from synth.envs.storefront.tasks.returns import gift_return, returnable
from synth.envs.storefront.tasks.twists import CONDITIONS, with_change_of_mind
from synth.envs.storefront.world.rules import refused_by_status
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check, Facts
from synth.schemas.reverse import NoGoal

PLAIN = 0.5
"""Least weight of requests without a twist: most deeds allow no other."""
KIND_OF: Mapping[frozenset[str], Kind] = {
    frozenset(tools): kind for kind, row in KINDS.items() for tools in row.get("done_by", ())
}
"""The request that a set of tools serves."""
HALVES = frozenset({"create_return", "escalate"})
"""Tools that do half of what a customer asks for."""


def wish(matter: Matter, draw: Draw, name: str, changed: Facts) -> Intent | NoGoal:
    """The request for a matter; `name` seeds the words, `changed` are the facts after the
    window.
    """
    if matter.ticket_id is not None:
        return _note(matter, replace(draw, rng=Random(name)))
    if matter.writes[0].rule is not None:
        return denied_wish(matter, draw, name)
    codes = [write.arguments["reason_code"] for write in matter.writes if write.tool == "escalate"]
    if matter.order_id is None or set(codes) - {"refund_limit"}:
        needed = codes == ["out_of_scope"] and "R13" in draw.base.rules.in_force
        if matter.order_id is not None or not needed:
            return NoGoal("escalated_without_need")
        return out_of_scope(replace(draw, rng=Random(name)), "out_of_scope_of_any_order")
    kind = KIND_OF.get(matter.tools)
    if kind is None:
        return NoGoal("half_a_return" if matter.tools <= HALVES else "order_written_twice")
    make = _maker(kind, draw.base, matter.order_id, draw.customer_id)
    if make is None:
        return NoGoal(f"not_allowed:{kind}")
    of_order = {path: value for path, value in changed.items() if matter.order_id in path}
    for drawn in draws(draw, name):
        intent = _drawn(drawn, name, kind, make, matter)
        if intent is not None and _achieved(intent, draw.base, of_order):
            return intent
    return NoGoal(f"no_words:{kind}")


def _achieved(intent: Intent, base: BaseWorld, changed: Facts) -> bool:
    """Whether all that the request requires holds, and whatever else is new comes with it."""
    check = Check(required=intent.required, free=ALWAYS_FREE + intent.free)
    return evaluate(check, base, changed, ()).passed


def _note(matter: Matter, draw: Draw) -> Intent | NoGoal:
    """A note that a customer asks for, word for word on a ticket of theirs: notes are free, but not
    where one is asked for.
    """
    ticket_id, text = str(matter.ticket_id), str(matter.writes[0].arguments["text"])
    if ticket_id not in draw.base.tickets_of.get(draw.customer_id, ()):
        return NoGoal("note_on_another_ticket")
    said = draw.words("note", ticket_id=ticket_id, text=text)
    request = Request(draw.number, "note", said, ticket_id=ticket_id, note=text)
    return Intent(request).ending(end_of("note", ticket=ticket_id, text=text))


def _drawn(plain: Draw, name: str, kind: Kind, make: Maker, matter: Matter) -> Intent | None:
    """A request of the kind, about as often with a twist as those of the task mix; None where the
    twist leads nowhere.

    Whether one may be ambiguous whose first that fits is right is the same in every draw: `name`
    decides.
    """
    mix, order_id, row = plain.config.mix, str(matter.order_id), KINDS[kind]
    weights = (mix.ambiguous, mix.conditional, max(mix.feasible, PLAIN))
    twist = plain.rng.choices(("ambiguous", "conditional", None), weights)[0]
    left_open = row.get("open", ("order",))
    slot = plain.rng.choice(left_open) if twist == "ambiguous" else None
    draw = named(replace(plain, slot=slot), matter)
    if kind == "address" and not fitting_cities(draw, order_id):
        return None
    if slot is not None:
        return open_among_several(replace(draw, rng=Random(name)), slot, make(draw, order_id))
    own = draw.order(order_id)["customer_id"] == draw.customer_id
    if twist == "conditional" and kind in CONDITIONS and own:
        one_line = len(draw.base.lines_of[order_id]) == 1
        return CONDITIONS[kind](draw, order_id) if one_line or kind != "exchange" else None
    changes = asks_first(draw) and "first" in row
    if not changes or draw.rng.random() >= draw.config.changes_of_mind:
        return make(draw, order_id)
    first = makers(draw.base, order_id, draw.customer_id).get(row["first"], make)
    return with_change_of_mind(draw, first(draw, order_id), may_withdraw=False)


def _maker(kind: Kind, base: BaseWorld, order_id: str, customer_id: str) -> Maker | None:
    """What makes such a request about an order, where nothing forbids it."""
    order = base.orders[order_id]
    if kind == "return" and order["recipient_id"] == customer_id:
        possible = returnable(base, order_id, customer_id) and "R15" in base.rules.in_force
        return _gift if possible else None
    if order["customer_id"] != customer_id:
        return None
    if kind == "address" and refused_by_status(kind, order) is None:
        return MAKERS[kind]
    return makers(base, order_id, customer_id).get(kind)


def _gift(draw: Draw, order_id: str) -> Intent:
    """A gift is named by who gave it only where they gave one."""
    givers = [draw.order(key)["customer_id"] for key in draw.base.gifts_of[draw.customer_id]]
    several = givers.count(draw.order(order_id)["customer_id"]) > 1
    return gift_return(draw, order_id, named=several or draw.rng.random() < 0.5)
