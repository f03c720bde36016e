"""The request that a customer made if this was to be done for them, was to be refused, or was to be
looked up: in the words of the template tasks, and about as often with a complication as those.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from synth.envs.storefront.check.check import shows
from synth.envs.storefront.customer.script import KIND_OF, KINDS
from synth.envs.storefront.tasks.complications import conditional
from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent
from synth.envs.storefront.tasks.open_words import open_among_several
from synth.envs.storefront.tasks.side_requests import asks_first, changed_to, instead_of
from synth.envs.storefront.tasks.wording import to_card, worded
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.tools.transcript import Event, act
from synth.envs.storefront.world.policy import BY_STATUS, STORE_CREDIT, Call
from synth.schemas import Operation

PLAIN = 0.5
"""Least weight of requests without a complication: most deeds allow no other."""
MOST_DRAWS = 60
"""Draws until there is a request whose words mean this."""
HALVES = frozenset({"create_return", "escalate"})
"""Tools that do half of what a customer asks for."""


class NoGoalError(Exception):
    """Nobody asks for this; the text is the reason of a `NoGoal`."""


@dataclass(slots=True)
class Topic:
    """What was done with one order (None: with none), or noted on a ticket; `rule` is the one by
    which a tool refused it, if it did.
    """

    order_id: str | None
    ticket_id: str | None = None
    calls: list[Call] = field(default_factory=list)
    rule: str | None = None


def topics(
    operations: Sequence[Operation],
    walk: Sequence[Event],
) -> list[Topic]:
    """What the writes of a window are about: one topic per order, and per note, in the order in
    which they were begun.

    Raises `NoGoalError` where an order was written on twice, as if of one request (a return and its
    refund are one). What failed otherwise than by a rule was not to be done at all.
    """
    found: dict[tuple[str | None, str | None], Topic] = {}
    turns = {operation.at for operation in operations}

    for event in walk:
        done = event.kind == "call" or event.refused_by is not None

        # a stumbled call was made again: only what was done, or refused by a rule, was meant
        if event.turn in turns and event.tool in WRITES and event.place >= 0 and done:
            of = (event.order_id, event.arguments.get("ticket_id"))
            topic = found.setdefault(of, Topic(*of))
            topic.calls.append((event.tool, event.arguments))
            topic.rule = topic.rule or event.refused_by

    for topic in found.values():
        # one tool twice is two wishes for one order, of which the later undid the first
        again = len({tool for tool, _ in topic.calls}) < len(topic.calls)

        if again or (topic.rule is not None and len(topic.calls) > 1):
            raise NoGoalError("order_written_twice")

    if not found:
        raise NoGoalError("nothing_asked_for")

    return list(found.values())


def intent_of(
    topic: Topic,
    draw: Draw,
    name: str,
) -> Intent:
    """The request for a topic; `name` seeds the words. Raises `NoGoalError`."""
    at = replace(draw, rng=Random(name))
    call = topic.calls[0]

    if topic.ticket_id is not None:
        if topic.ticket_id not in draw.base.tickets_of.get(draw.customer_id, ()):
            raise NoGoalError("note_on_another_ticket")

        return worded(at, call)

    # a refused write is asked for, and denied
    if topic.rule is not None:
        return _denied(at, topic.rule, call)

    # refunds above the limit are escalated too: they belong to a return
    codes = [made["reason_code"] for tool, made in topic.calls if tool == "escalate"]

    if topic.order_id is not None and set(codes) <= {"refund_limit"}:
        return _done(topic, draw, name)

    is_meant = topic.order_id is None and codes == ["out_of_scope"]

    if not is_meant or "R13" not in draw.base.rules.in_force:
        raise NoGoalError("escalated_without_need")

    return worded(at, call)


def _done(
    topic: Topic,
    draw: Draw,
    name: str,
) -> Intent:
    """The request that asks for exactly what was done with an order.

    There is none where half a return was made, where two things were done, or where a rule that no
    tool holds forbids it.
    """
    tools = {tool for tool, _ in topic.calls}
    tool, made = topic.calls[0]
    kind = KIND_OF[tool]

    # a return is whole with its refund, or with its escalation where that is above the limit
    if tools in ({"create_return", "issue_refund"}, HALVES):
        to_credit = STORE_CREDIT in [call.get("to") for _, call in topic.calls]
        made = {**made, "refund_to": "store_credit" if to_credit else "original"}
    elif tools <= HALVES:
        raise NoGoalError("half_a_return")
    elif len(tools) > 1:
        raise NoGoalError("order_written_twice")

    if draw.options.forbidding((tool, made)):
        raise NoGoalError(f"not_allowed:{kind}")

    wanted = {act(*call) for call in topic.calls}

    # wordings are drawn until one asks for exactly what was done
    for number in range(MOST_DRAWS):
        drawn = replace(draw, rng=Random(f"{name}/{number}"))
        intent = _drawn(drawn, name, (tool, made))

        if intent is not None and {act(*call) for call in intent.calls} == wanted:
            return intent

    raise NoGoalError(f"no_words:{kind}")


def _drawn(
    draw: Draw,
    name: str,
    call: Call,
) -> Intent | None:
    """A request that a call carries out, about as often with a complication as those of the task
    mix: open words, a condition, or something else that the customer asks for first; None where
    that leads nowhere.

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

    if tool == "change_address" and draw.in_city(made["address_id"]) > 1 and at.slot != "address":
        return None

    if at.slot is not None:
        return open_among_several(
            replace(at, rng=Random(name)),
            at.slot,
            worded(at, call),
        )

    own = draw.base.orders[made["order_id"]]["customer_id"] == draw.customer_id

    if how == "conditional" and own and "conditional" in row:
        return conditional(at, worded(at.with_all_said(), call))

    first = row.get("first", "") if asks_first(draw) else ""
    others = instead_of(at, call, first)

    if others and draw.rng.random() < draw.config.changes_of_mind:
        return changed_to(at, draw.rng.choice(others), call)

    return worded(at, call)


def _denied(draw: Draw, rule: str, call: Call) -> Intent:
    """The request that has to be denied where a tool refused a write by a rule.

    There is none where a second rule forbids it, or where the tool had another reason.
    """
    tool, made = call
    order = draw.base.orders[made["order_id"]]
    order_id = order["order_id"]
    may = order["status"] in BY_STATUS.get(tool, {}).get("in", ())

    if order["customer_id"] != draw.customer_id:
        raise NoGoalError(f"denied_otherwise:{rule}")

    # R11 has two parts: the order has left, or the address is on no file
    off_file = rule == "R11" and may
    back = draw.feasible(order_id).get("return", [])
    unclear = (off_file and draw.in_city(made["address_id"])) or (rule == "R5" and not back)

    if unclear or set(draw.options.forbidding(call)) != {rule}:
        raise NoGoalError(f"two_rules_or_no_words:{rule}")

    intent = worded(draw, draw.rng.choice(back) if rule == "R5" else call)

    if rule == "R5":
        intent = to_card(draw, intent, made["to"])

    # a claim is one about the fact that forbids the request
    about_another = (rule == "R7" and not may) or (rule == "R9" and may)

    if not about_another and draw.rng.random() < draw.config.false_claims:
        claim = WORDS["claims"]["R11 file" if off_file else rule]
        intent = intent.complicated("false_claim", words=claim)

    evidence = draw.customer_id if off_file else order_id

    return intent.denied(rule, evidence).complicated(f"ineligible_{rule}")


def question(
    event: Event,
    draw: Draw,
    name: str,
) -> Intent:
    """The request that a look-up answers; `name` seeds the words. Raises `NoGoalError`."""
    at = replace(draw, rng=Random(name))
    call = (event.tool, event.arguments)
    order_id = event.order_id

    if order_id is not None:
        mine = draw.base.orders_of.get(draw.customer_id, ())
        calls = draw.feasible(order_id) if order_id in mine else {}

        if call not in calls.get(KIND_OF[event.tool], []):
            raise NoGoalError(f"not_asked:{event.tool}")

    intent = worded(at, call)

    # a question counts only where the look-up did show its answer
    if not all(shows(event, fact) for fact in intent.told):
        raise NoGoalError(f"no_words:{event.tool}")

    return intent
