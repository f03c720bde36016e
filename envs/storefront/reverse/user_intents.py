"""The request that a customer made if this was to be done for them, was to be refused, or was to be
looked up: in the words of the template tasks, and about as often with a complication as those.
"""

from dataclasses import replace
from random import Random

from synth.envs.storefront.check.check import shows
from synth.envs.storefront.customer.script import KIND_OF, KINDS
from synth.envs.storefront.reverse.topics import Topic
from synth.envs.storefront.tasks.requests.entity_resolution import WORDS
from synth.envs.storefront.tasks.requests.returns import to_card
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.tasks.requests.wording import feasible, in_city, options_of, worded
from synth.envs.storefront.tasks.scenarios.change_of_mind import is_other, revised
from synth.envs.storefront.tasks.scenarios.complications import conditional
from synth.envs.storefront.tasks.scenarios.open_words import open_among_several
from synth.envs.storefront.tasks.scenarios.side_requests import asks_first
from synth.envs.storefront.tools.event_log import Event, act
from synth.envs.storefront.world.policy import STORE_CREDIT, Call
from synth.envs.storefront.world.rules import BY_STATUS
from synth.schemas.reverse import NoGoal

PLAIN = 0.5
"""Least weight of requests without a complication: most deeds allow no other."""
MOST_DRAWS = 60
"""Draws until there is a request whose words mean this."""
HALVES = frozenset({"create_return", "escalate"})
"""Tools that do half of what a customer asks for."""


def intent_of(topic: Topic, draw: Draw, name: str) -> Intent | NoGoal:
    """The request for a topic; `name` seeds the words."""
    at = replace(draw, rng=Random(name))
    base = draw.base
    call = topic.calls[0]

    if topic.ticket_id is not None:
        own = topic.ticket_id in base.tickets_of.get(draw.customer_id, ())

        return worded(at, call) if own else NoGoal("note_on_another_ticket")

    # a refused write is asked for, and denied
    if topic.rule is not None:
        return _denied(at, topic.rule, call)

    # refunds above the limit are escalated too: they belong to a return
    codes = [made["reason_code"] for tool, made in topic.calls if tool == "escalate"]

    if topic.order_id is None or set(codes) - {"refund_limit"}:
        needed = codes == ["out_of_scope"] and "R13" in base.rules.in_force
        fits = topic.order_id is None and needed

        return worded(at, call) if fits else NoGoal("escalated_without_need")

    return _done(topic, draw, name)


def _done(topic: Topic, draw: Draw, name: str) -> Intent | NoGoal:
    """The request that asks for exactly what was done with an order.

    There is none where half a return was made, where two things were done, or where a rule that no
    tool holds forbids it.
    """
    tools = topic.tools
    tool, made = topic.calls[0]
    kind = KIND_OF[tool]
    # a return is whole with its refund, or with its escalation where that is above the limit
    settled = tools in ({"create_return", "issue_refund"}, HALVES)

    if not settled and (len(tools) > 1 or tools <= HALVES):
        return NoGoal("half_a_return" if tools <= HALVES else "order_written_twice")

    if settled:
        to_credit = STORE_CREDIT in [call.get("to") for _, call in topic.calls]
        made = {**made, "refund_to": "store_credit" if to_credit else "original"}

    if options_of(draw).forbidding((tool, made)):
        return NoGoal(f"not_allowed:{kind}")

    wanted = {act(*call) for call in topic.calls}

    # wordings are drawn until one asks for exactly what was done
    for number in range(MOST_DRAWS):
        drawn = replace(draw, rng=Random(f"{name}/{number}"))
        intent = _drawn(drawn, name, (tool, made))

        if intent is not None and {act(*call) for call in intent.calls} == wanted:
            return intent

    return NoGoal(f"no_words:{kind}")


def _drawn(draw: Draw, name: str, call: Call) -> Intent | None:
    """A request that a call carries out, about as often with a complication as those of the task
    mix; None where that leads nowhere.

    Whether one may be ambiguous whose first that fits is right is the same in every draw: `name`
    decides.
    """
    tool, made = call
    mix = draw.config.mix
    row = KINDS[KIND_OF[tool]]
    weights = (mix.ambiguous, mix.conditional, max(mix.feasible, PLAIN))
    how = draw.rng.choices(("ambiguous", "conditional", None), weights)[0]
    # no card is left open: the refund of the walk says where the money went
    slots = [slot for slot in row["open"] if slot != "payment"]
    at = replace(draw, slot=draw.rng.choice(slots) if how == "ambiguous" else None)

    if tool == "change_address" and in_city(draw, made["address_id"]) > 1 and at.slot != "address":
        return None

    if at.slot is not None:
        same = replace(at, rng=Random(name))

        return open_among_several(same, at.slot, worded(at, call))

    own = draw.base.orders[made["order_id"]]["customer_id"] == draw.customer_id

    if how == "conditional" and own and "conditional" in row:
        return conditional(at, worded(at.with_all_said(), call))

    return _after_another(at, call)


def _after_another(draw: Draw, call: Call) -> Intent:
    """The request that a call carries out; now and then the customer asks for something else first,
    and changes their mind to this.
    """
    rng = draw.rng
    kind = KINDS[KIND_OF[call[0]]].get("first", "") if asks_first(draw) else ""
    possible = feasible(draw, call[1]["order_id"]).get(kind, [])
    others = [other for other in possible if is_other(call, other)]

    if not others or rng.random() >= draw.config.changes_of_mind:
        return worded(draw, call)

    intent = worded(draw, rng.choice(others))
    again = replace(
        draw.with_all_said(),
        referent=intent.referent,
        tell=intent.request.tell_total,
    )

    return revised(draw, intent, worded(again, call))


def _denied(draw: Draw, rule: str, call: Call) -> Intent | NoGoal:
    """The request that has to be denied where a tool refused a write by a rule.

    There is none where a second rule forbids it, or where the tool had another reason.
    """
    (tool, made), base = call, draw.base
    order = base.orders[made["order_id"]]
    order_id = order["order_id"]
    may = order["status"] in BY_STATUS.get(tool, {}).get("in", ())

    if order["customer_id"] != draw.customer_id:
        return NoGoal(f"denied_otherwise:{rule}")

    # R11 has two parts: the order has left, or the address is on no file
    off_file = rule == "R11" and may
    back = feasible(draw, order_id).get("return", [])
    unclear = (off_file and in_city(draw, made["address_id"])) or (rule == "R5" and not back)

    if unclear or set(options_of(draw).forbidding(call)) != {rule}:
        return NoGoal(f"two_rules_or_no_words:{rule}")

    intent = worded(
        draw,
        draw.rng.choice(back) if rule == "R5" else call,
    )

    if rule == "R5":
        intent = to_card(draw, intent, made["to"])

    # a claim is one about the fact that forbids the request
    about_another = (rule == "R7" and not may) or (rule == "R9" and may)

    if not about_another and draw.rng.random() < draw.config.false_claims:
        claim = WORDS["claims"]["R11 file" if off_file else rule]
        intent = intent.complicated("false_claim", words=claim)

    evidence = draw.customer_id if off_file else order_id

    return intent.denied(rule, evidence).complicated(f"ineligible_{rule}")


def question(event: Event, draw: Draw, name: str) -> Intent | NoGoal:
    """The request that a look-up answers; `name` seeds the words."""
    at = replace(draw, rng=Random(name))
    call = (event.tool, event.arguments)
    order_id = event.order_id

    if order_id is not None:
        mine = draw.base.orders_of.get(draw.customer_id, ())
        calls = feasible(draw, order_id) if order_id in mine else {}

        if call not in calls.get(KIND_OF[event.tool], []):
            return NoGoal(f"not_asked:{event.tool}")

    intent = worded(at, call)
    # a question counts only where the look-up did show its answer
    shown = all(shows(event, fact) for fact in intent.told)

    return intent if shown else NoGoal(f"no_words:{event.tool}")
